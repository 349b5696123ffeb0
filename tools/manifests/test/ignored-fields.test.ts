import type { DescMessage } from "@bufbuild/protobuf";
import { fieldsWithoutEffect } from "@istiod/config-schema";
import { expect, test } from "vitest";
import { commentOf } from "../src/definitions/comments.js";
import { readProtos } from "../src/definitions/read-protos.js";

test("the comment of each field without effect says that it is ignored", async () => {
  const registry = await readProtos();
  const commentOfField = (name: string): string => {
    const at = name.lastIndexOf(".");
    const message: DescMessage | undefined = registry.getMessage(name.slice(0, at));
    const field = message?.fields.find(({ localName }) => localName === name.slice(at + 1));
    return (field && commentOf(field)) ?? "no comment";
  };
  const comments = Object.keys(fieldsWithoutEffect).map((name) => `${name}: ${commentOfField(name)}`);
  expect(comments.length).toBeGreaterThan(0);
  expect(comments.filter((comment) => !/\b(Ignored|Deprecated)\b/.test(comment))).toEqual([]);
});

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

it("the README's example is the file that is run here", async () => {
  expect(/```ts\n([^]*?)```/.exec(read("../README.md"))?.[1]).toBe(read("./readme-example.ts"));
  await import("./readme-example.js");
}, 120_000);

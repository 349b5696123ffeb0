import { GoList, GoStruct } from "@istiod/go-template";
import { expect, it } from "vitest";
import { templateStruct } from "../src/go-types/template-value.js";

it("makes the fields of a struct when they are first read", () => {
  let reads = 0;
  const volume = Object.defineProperty({} as Record<string, unknown>, "name", {
    enumerable: true,
    get: () => {
      reads++;
      return "data";
    },
  });
  const spec = templateStruct("PodSpec", { volumes: [volume] });
  const volumes = spec.fields.get("Volumes");
  expect(reads).toBe(0);
  const [first] = volumes instanceof GoList ? volumes.items : [];
  expect(first instanceof GoStruct && [first.fields.get("Name"), first.fields.get("Name")]).toEqual(["data", "data"]);
  expect(reads).toBe(1);
});

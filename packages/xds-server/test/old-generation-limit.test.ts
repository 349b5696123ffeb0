import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { oldGenerationLimit } from "../src/limits/old-generation-limit.js";

const mebibyte = 1024 * 1024;
const script = "console.log(v8.getHeapStatistics().heap_size_limit)";

test.each([
  [["--max-old-space-size=128"], 128],
  [["--max-old-space-size=128", "--max-semi-space-size=8"], 128],
  [["--max-old-space-size=512", "--max_semi_space_size=32", "--max-semi-space-size=4"], 512],
])("this Node.js with %j ends at the size of its old generation", (flags, size) => {
  const heapSizeLimit = Number(execFileSync(process.execPath, [...flags, "-e", script], { encoding: "utf8" }));
  const { v8 } = process.versions;
  expect(oldGenerationLimit({ heapSizeLimit, v8Version: v8, flags }) / mebibyte).toBe(size);
});

test("the young generation is larger since V8 13", () => {
  const flags = [""];
  const limit = (v8Version: string, heapSizeLimit: number): number =>
    oldGenerationLimit({ heapSizeLimit: heapSizeLimit * mebibyte, v8Version, flags }) / mebibyte;
  expect(limit("11.3.244.8-node.38", 176)).toBe(128);
  expect(limit("12.4.254.21-node.57", 176)).toBe(128);
  expect(limit("13.6.233.17-node.53", 320)).toBe(128);
});

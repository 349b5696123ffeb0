import { expect, test } from "vitest";
import { maxOpenFiles, openFilesIn } from "../src/index.js";

const limits = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft.padEnd(20)} 524288               files     \nMax locked memory         65536                65536                bytes     \n`;

test("the maximum number of open files is the soft limit, if there is one", () => {
  expect(openFilesIn(limits("1024"))).toBe(1024);
  expect(openFilesIn(limits("unlimited"))).toBe(undefined);
  expect(openFilesIn("")).toBe(undefined);
});

test("a process knows its own", ({ skip }) => {
  skip(process.platform !== "linux", "limits of a process are read on Linux only");
  expect(maxOpenFiles()).toBeGreaterThan(0);
});

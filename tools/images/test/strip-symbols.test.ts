import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stripSymbols } from "../src/root/strip-symbols.js";

test("a program without its symbols is smaller, and does the same", (context) => {
  context.skip(process.platform !== "linux", "only Linux has ELF programs");
  const directory = mkdtempSync(join(tmpdir(), "strip-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const before = readFileSync(process.execPath);
  const after = stripSymbols(before);
  expect(after.length).toBeLessThan(before.length);
  writeFileSync(join(directory, "node"), after, { mode: 0o755 });
  expect(execFileSync(join(directory, "node"), ["-p", "6 * 7"], { encoding: "utf8" })).toBe("42\n");
  expect(stripSymbols(after).equals(after)).toBe(true);
});

test.each([
  ["a script", Buffer.from("#!/bin/sh\n".padEnd(64))],
  ["a 32-bit program", Buffer.from("\x7fELF\x01\x01".padEnd(64, "\0"), "latin1")],
  ["a big-endian program", Buffer.from("\x7fELF\x02\x02".padEnd(64, "\0"), "latin1")],
])("%s is an error", (_, content) => {
  expect(() => stripSymbols(content)).toThrow("not a little-endian 64-bit ELF file");
});

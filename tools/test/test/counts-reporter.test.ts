import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { expect, onTestFinished, test, vi } from "vitest";

const outcomes = `
let runs = 0;
let counterexamples = 0;
test("passes", () => {});
test("passes when run again", () => expect(runs++).toBe(1));
test("counterexample", () => {
  if (counterexamples++ === 0) throw new Error("Property failed after 1 tests\\n{ seed: 1 }");
});
test("fails", () => { throw new Error("always\\nmore"); });
test("skips", (context) => context.skip(true, "no reason to run"));
describe("suite", () => {
  beforeAll(() => { throw new Error("in a hook"); });
  test("of which nothing runs", () => {});
});
`;

test("the reporter names what failed, also once, after what was skipped, and counts last", async () => {
  const root = await mkdtemp(join(tmpdir(), "outcomes-"));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, "outcomes.test.js"), outcomes);
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  onTestFinished(() => log.mockRestore());
  onTestFinished(() => void (process.exitCode = undefined));

  const vitest = await startVitest("test", [], {
    root,
    config: fileURLToPath(new URL("../../../vitest.base.ts", import.meta.url)),
    include: ["*.test.js"],
    reporters: [fileURLToPath(new URL("../counts-reporter.mjs", import.meta.url))],
    watch: false,
    globals: true,
  });
  await vitest.close();

  expect(lines).toEqual([
    "\nskipped (no reason given):",
    "  outcomes.test.js: suite > of which nothing runs",
    "\nskipped (no reason to run):",
    "  outcomes.test.js: skips",
    "\nfailed once, and passed when run again:",
    "  outcomes.test.js: passes when run again: expected +0 to be 1 // Object.is equality",
    "\nfailed:",
    "  outcomes.test.js: suite: in a hook",
    "  outcomes.test.js: counterexample: Property failed after 1 tests",
    "  outcomes.test.js: fails: always",
    "\n2 passed, 3 failed, 2 skipped",
  ]);
});

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { expect, it, onTestFinished, vi } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const lateHooks = (log: string): string => `
import { appendFileSync } from "node:fs";
const say = (text) => appendFileSync(${JSON.stringify(log)}, text + "\\n");
test("one", () => {
  afterAll(() => say("closes first"));
  afterAll(async () => say("closes second"));
  say("one");
});
test("two", () => {
  expect(() => afterEach(() => {})).toThrow("afterEach was called while tests run, and would have no effect");
  say("two");
});
`;

it("afterAll has an effect while tests run: it closes after the file's tests; other hooks fail", async () => {
  const directory = await mkdtemp(join(tmpdir(), "hooks-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const log = join(directory, "log");
  await writeFile(join(directory, "first.test.js"), lateHooks(log));
  await writeFile(join(directory, "second.test.js"), lateHooks(log));
  const quiet = vi.spyOn(console, "log").mockImplementation(() => undefined);
  onTestFinished(() => quiet.mockRestore());

  const vitest = await startVitest("test", [], {
    root: directory,
    config: join(root, "vitest.base.ts"),
    include: ["*.test.js"],
    watch: false,
    globals: true,
    isolate: false,
    maxWorkers: 1,
  });
  await vitest.close();

  const ofOneFile = ["one", "two", "closes second", "closes first"];
  expect((await readFile(log, "utf8")).trim().split("\n")).toEqual([...ofOneFile, ...ofOneFile]);
});

it("helpers of tests register no hooks when they are imported, since files of one process share their modules", () => {
  const helpers = ["packages", "apps", "tools"].flatMap((group) =>
    readdirSync(join(root, group))
      .map((project) => join(root, group, project, "test"))
      .filter((directory) => existsSync(directory))
      .flatMap((directory) =>
        readdirSync(directory, { recursive: true, encoding: "utf8" }).map((path) => join(directory, path)),
      )
      .filter((path) => /(?<!\.test)\.ts$/.test(path)),
  );
  expect(helpers.length).toBeGreaterThan(100);
  expect(helpers.filter((path) => /^(after|before)(All|Each)\(/m.test(readFileSync(path, "utf8")))).toEqual([]);
});

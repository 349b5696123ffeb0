import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const projects = ["packages", "apps", "tools"].flatMap((group) =>
  readdirSync(join(root, group))
    .filter((name) => existsSync(join(root, group, name, "package.json")))
    .map((name) => `${group}/${name}`),
);
/** Path of the example that a package's README shows first. There it is type-checked and linted like a test. */
const file = (project: string): string => join(root, project, "test", "readme-example.ts");

// Paths in examples are relative to the repository, wherever the tests were started.
beforeAll(() => process.chdir(root));

it("every package shows an example", () => {
  expect(projects.filter((project) => project.startsWith("packages/") && !existsSync(file(project)))).toEqual([]);
});

describe.each(projects.filter((project) => existsSync(file(project))))("the example in the README of %s", (project) => {
  const example = readFileSync(file(project), "utf8");

  it("is the file test/readme-example.ts", () => {
    const readme = readFileSync(join(root, project, "README.md"), "utf8");
    expect(/```ts\n([^]*?)```/.exec(readme)?.[1]).toBe(example);
  });

  // One that needs another party, such as a proxy, is run by the package's own test/readme.test.ts.
  if (!existsSync(join(root, project, "test", "readme.test.ts"))) {
    it("does what it says", async () => {
      expect(example, "it must check what it says").toContain('from "node:assert/strict"');
      await import(pathToFileURL(file(project)).href);
    }, 120_000);
  }
});

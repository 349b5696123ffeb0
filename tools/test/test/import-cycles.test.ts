import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { importCycles, importGraph } from "./import-graph.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const projects = ["packages", "apps", "tools"].flatMap((group) =>
  readdirSync(join(root, group))
    .filter((name) => existsSync(join(root, group, name, "src")))
    .map((name) => `${group}/${name}`),
);

it.each(projects)("%s has no import cycles, including type-only imports", (project) => {
  expect(importCycles(importGraph(root, `${project}/src`))).toEqual([]);
});

it("finds each cycle with exactly the files on it", () => {
  const graph = new Map([
    ["main", ["a", "d"]],
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", ["a"]],
    ["d", ["e"]],
    ["e", []],
    ["x", ["y", "d"]],
    ["y", ["x"]],
    ["self", ["self"]],
  ]);
  expect(importCycles(graph)).toEqual([["a", "b", "c"], ["self"], ["x", "y"]]);
});

it("follows type imports, re-exports and dynamic imports", () => {
  const graph = importGraph(root, "packages/incremental/src");
  expect(graph.get("packages/incremental/src/api.ts")).toEqual([
    "packages/incremental/src/definitions/context.ts",
    "packages/incremental/src/views/explanation.ts",
  ]);
  expect(graph.get("packages/incremental/src/index.ts")).toContain("packages/incremental/src/database.ts");
});

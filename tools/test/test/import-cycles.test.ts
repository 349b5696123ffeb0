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

/** Cycles that are still to be removed, by project. Add none. */
const exceptions: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "packages/push-report": [
    [
      "packages/push-report/src/no-effect.ts",
      "packages/push-report/src/object-status.ts",
      "packages/push-report/src/removal.ts",
    ],
  ],
};

it.each(projects)("%s has no import cycles, of types neither", (project) => {
  expect(importCycles(importGraph(root, `${project}/src`))).toEqual(exceptions[project] ?? []);
});

it("cycles are found with every file on them, and nothing else", () => {
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

it("imports of types, exports and dynamic imports count", () => {
  const graph = importGraph(root, "packages/incremental/src");
  expect(graph.get("packages/incremental/src/api.ts")).toEqual([
    "packages/incremental/src/definitions/context.ts",
    "packages/incremental/src/views/explanation.ts",
  ]);
  expect(graph.get("packages/incremental/src/index.ts")).toContain("packages/incremental/src/database.ts");
});

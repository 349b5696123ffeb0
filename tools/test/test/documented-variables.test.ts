import { readFileSync } from "node:fs";
import { discoveryVariables } from "@istiod/settings";
import { expect, it } from "vitest";

const page = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");

/** Names in the reference of istiod's settings, which is generated from their declarations. */
const read = new Set(
  [...page("reference/istiod-settings.md").matchAll(/`([A-Z][A-Z0-9_]{3,})`/g)].map(([, name]) => name),
);
const section = page("parity.md").split("## Variables that are not read\n")[1]?.split("\n## ")[0] ?? "";
const table = section.split("\n").filter((line) => line.startsWith("| `"));
const patterns = table.flatMap((line) =>
  [...(line.split(" | ")[0] ?? "").matchAll(/`([A-Z][A-Z0-9_*]+)`/g)].map(([, pattern = ""]) => pattern),
);
const matches = (pattern: string, name: string): boolean => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name);
const isListed = (name: string): boolean => patterns.some((pattern) => matches(pattern, name));

it("docs/parity.md lists the variables of Istio's istiod that are not read, and no others", () => {
  expect(read.size).toBeGreaterThan(100);
  expect(discoveryVariables.filter((name) => !read.has(name) && !isListed(name))).toEqual([]);
  expect([...read].filter((name) => name !== undefined && isListed(name))).toEqual([]);
  expect(patterns.filter((pattern) => !discoveryVariables.some((name) => matches(pattern, name)))).toEqual([]);
});

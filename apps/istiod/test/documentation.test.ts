import { readFile } from "node:fs/promises";
import { analyzers, messageTypes } from "@istiod/analysis";
import { expect, it } from "vitest";

const page = async (name: string): Promise<string> =>
  readFile(new URL(`../../../docs/${name}`, import.meta.url), "utf8");

it("docs/analysis.md has each code that Istio does not have, with name and level, and no analyzer that does not exist", async () => {
  const text = await page("analysis.md");
  const rows = [...text.matchAll(/^\| `(MESH\d+)` (\w+) \| (\w+) \| [^|]+ \| [^|]+ \|$/gm)].map(
    ([, ...cells]) => cells,
  );
  const own = Object.entries(messageTypes)
    .filter(([code]) => code.startsWith("MESH"))
    .sort();
  expect(rows).toEqual(own.map(([code, { name, level }]) => [code, name, level]));
  const named = [...text.matchAll(/`(\w+\.\w*Analyzer)`/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !analyzers.some((analyzer) => analyzer.name === name))).toEqual([]);
});

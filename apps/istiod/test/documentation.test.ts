import { readFile } from "node:fs/promises";
import { analyzers, messageTypes } from "@istiod/analysis";
import { allKinds, istioKinds, type Kind } from "@istiod/config-schema";
import { expect, it } from "vitest";

const kindsNotIn = (text: string, kinds: readonly Kind[]): readonly string[] =>
  kinds.map(({ kind }) => kind).filter((kind) => !new RegExp(`\\b${kind}\\b`).test(text));

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

it("the lists of kinds name each kind", async () => {
  const [, objects = ""] = (await page("istiod.md")).split("\n## Supported objects\n");
  const supported = objects.split("\n## ")[0] ?? "";
  expect(
    kindsNotIn(
      supported,
      allKinds.filter((kind) => !istioKinds.includes(kind)),
    ),
  ).toEqual([]);
  const [, list = ""] = (await page("../packages/config-schema/README.md")).split("\nKinds: ");
  expect(kindsNotIn(list.split("\n\n")[0] ?? "", allKinds)).toEqual([]);
});

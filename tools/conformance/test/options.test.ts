import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), "utf8");

test("the page of the results names each feature that the suite does not run", async () => {
  const { exemptFeatures } = parse(await read("../options.yaml")) as { exemptFeatures: readonly string[] };
  const page = await read("../../../docs/gateway-api-conformance.md");
  expect(exemptFeatures.length).toBeGreaterThan(0);
  expect(exemptFeatures.filter((feature) => !page.includes(`\`${feature}\``))).toEqual([]);
});

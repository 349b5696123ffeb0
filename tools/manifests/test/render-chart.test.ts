import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type ChartObject, completeCharts, helmUnavailable, renderChart } from "../src/index.js";
import { Charts } from "./rendered-charts.js";

const values = fileURLToPath(new URL("values/", import.meta.url));
const files = readdirSync(values, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
const helmMissing = await helmUnavailable();
let charts: Charts;

beforeAll(async () => {
  if (helmMissing === undefined) charts = await Charts.copy();
  await completeCharts();
}, 120_000);
afterAll(() => charts?.remove());

const byId = (objects: readonly ChartObject[]) =>
  Object.fromEntries(
    objects.map((object) => [`${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}`, object]),
  );

/** Reads the text of a ConfigMap's entries, whose style differs. */
const parsedData = (data: Readonly<Record<string, string>>): unknown =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, parse(text) as unknown]));

const normalized = (objects: readonly ChartObject[]): readonly ChartObject[] =>
  objects.map((object) =>
    object.kind === "ConfigMap" ? { ...object, data: parsedData(object["data"] as Record<string, string>) } : object,
  );

test.for(files.toSorted())("%s: renders the same objects as Helm", { timeout: 120_000 }, async (file, context) => {
  context.skip(helmMissing !== undefined, helmMissing);
  const [chart = ""] = file.split("/");
  const expected = await charts.render(chart, "-f", join(values, file));
  const given = parse(await readFile(join(values, file), "utf8")) as Record<string, unknown> | null;
  const options = { charts: charts.directory, release: "mesh", namespace: "istio-system", values: given ?? {} };
  expect(byId(normalized(await renderChart(chart, options)))).toEqual(byId(normalized(expected)));
});

test("renders three istiods with Istio's values", async () => {
  const options = {
    release: "istiod",
    namespace: "istio-system",
    values: { pilot: { replicaCount: 3, autoscaleEnabled: false } },
  };
  const objects = byId(await renderChart("istiod", options));
  expect(objects["Deployment istio-system/istiod"]).toMatchObject({ spec: { replicas: 3 } });
});

test("fails in the words of the chart", async () => {
  const render = renderChart("istiod", { release: "istiod", namespace: "istio-system", values: { profile: "none" } });
  await expect(render).rejects.toThrow('profile is "none": there is no such profile');
});

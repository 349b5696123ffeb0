import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, ApiError } from "@istiod/kubernetes";
import { helmUnavailable } from "../src/index.js";
import { clusterUnavailable, type DefinedCluster, startDefinedCluster } from "./defined-cluster.js";
import { Charts, collectionPath, type RenderedObject } from "./rendered-charts.js";

const values = fileURLToPath(new URL("values/", import.meta.url));
const files = readdirSync(values, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
const helmMissing = await helmUnavailable();
const clusterMissing = await clusterUnavailable();
let charts: Charts;
let cluster: DefinedCluster | undefined;

beforeAll(async () => {
  if (helmMissing === undefined) charts = await Charts.copy();
  if (helmMissing === undefined && clusterMissing === undefined) cluster = await startDefinedCluster([]);
}, 120_000);
afterAll(async () => {
  await cluster?.stop();
  await charts?.remove();
});

test("there are at least 30 value files", () => {
  expect(files.length).toBeGreaterThanOrEqual(30);
});

test.for<string>(files.toSorted())(
  "%s: Helm lints and renders, and the API server accepts each object strictly",
  { timeout: 120_000 },
  async (file, context) => {
    context.skip(helmMissing !== undefined, helmMissing);
    const [chart = ""] = file.split("/");
    const lint = await charts.run("lint", chart, "-f", join(values, file));
    expect(lint).toContain("0 chart(s) failed");
    const objects = await charts.render(chart, "-f", join(values, file));
    const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
    expect(ids).toEqual([...new Set(ids)]);
    context.skip(clusterMissing !== undefined, clusterMissing);
    const rejections: string[] = [];
    for (const object of objects) {
      const rejection = await strictRejection(cluster as DefinedCluster, object);
      if (rejection !== undefined) rejections.push(`${object.kind} ${object.metadata.name}: ${rejection}`);
    }
    expect(rejections).toEqual([]);
  },
);

test("the API server rejects unknown fields in these dry runs", async (context) => {
  context.skip(helmMissing !== undefined || clusterMissing !== undefined, helmMissing ?? clusterMissing);
  const metadata = { name: "istiod", namespace: "default" };
  const spec = { ports: [{ port: 443, tagretPort: 15017 }] };
  const rejection = await strictRejection(cluster as DefinedCluster, {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec,
  });
  expect(rejection).toContain('unknown field "spec.ports[0].tagretPort"');
});

/** Returns why the server rejects a dry run of the creation, also for unknown fields, or `undefined`. */
async function strictRejection({ client }: { client: ApiClient }, object: RenderedObject): Promise<string | undefined> {
  const { metadata } = object;
  const moved =
    metadata.namespace === undefined ? object : { ...object, metadata: { ...metadata, namespace: "default" } };
  try {
    await client.json({
      method: "POST",
      path: collectionPath(moved),
      query: { dryRun: "All", fieldValidation: "Strict" },
      body: JSON.stringify(moved),
    });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

import { equal } from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectorySource, Ingestion, meshConfigFile } from "@istiod/config-ingestion";
import { formatProblem, meshConfig, meshConfigKey, virtualServices } from "@istiod/config-schema";
import { Database, query } from "@istiod/incremental";

const directory = await mkdtemp(join(tmpdir(), "mesh-"));
const route = (weight: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart.example.com]
  http:
  - route:
    - {destination: {host: cart, subset: v1}, weight: ${weight}}
    - {destination: {host: cart, subset: v2}, weight: 10}
`;
await writeFile(join(directory, "cart.yaml"), route("90"));

const database = new Database<unknown>();
let report: (text: string) => void = console.error;
const problem = new Promise<string>((resolve) => (report = resolve));
const ingestion = new Ingestion(
  database,
  [new DirectorySource({ directory }), meshConfigFile(join(directory, "no-such-file"))],
  {
    onProblems: (found) => found.forEach((p) => report(formatProblem(p))),
  },
);
await ingestion.ready;

// Queries read the objects from their kind's collection or its indexes.
const weights = query("weights", (q, key: string) =>
  (q.read(virtualServices, key)?.spec.http[0]?.route ?? []).map((r) => r.weight),
);
const view = database.view(undefined);
equal(view.call(weights, "shop/cart").join(), "90,10");
equal(database.read(meshConfig, meshConfigKey)?.rootNamespace, "istio-system");

// A bad document is reported with its place and rejected alone. Its last good version stays active.
await writeFile(join(directory, "cart.yaml"), route("most"));
equal(
  await problem,
  `${join(directory, "cart.yaml")}:9: VirtualService shop/cart: http[0].route[0].weight: is "most", expected an integer`,
);
equal(view.call(weights, "shop/cart").join(), "90,10");
await ingestion.stop();

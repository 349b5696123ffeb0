// Costs of analysis in process: everything from nothing, and after single edits: `npm run analysis -w tools/bench --
// [services]`.
import { findings } from "@istiod/analysis";
import {
  allKinds,
  analysisKinds,
  applyMeshConfig,
  decode,
  type LocatedObject,
  meshConfig,
  meshConfigKey,
  setObjects,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { change, type ChangeKind } from "./mesh/changes.js";
import { Mesh } from "./mesh/mesh.js";
import type { KubernetesObject } from "./mesh/objects.js";
import { type Figure, heapBytes, milliseconds, print } from "./measure.js";

const services = Number(process.argv[2] ?? 1000);
const mesh = new Mesh({ services, namespaces: 20, endpoints: 2, proxies: 50, gatewayRoutes: 50, seed: 1 });
const kinds = [...allKinds, ...analysisKinds];
const rounds = 9;

function located(objects: readonly KubernetesObject[]): LocatedObject[] {
  return objects.flatMap((o) =>
    decode(o, { kinds }).map((d) => {
      if (d.outcome !== "accepted") throw new Error(`${JSON.stringify(o)} was ${d.outcome}`);
      return { kind: d.kind, key: d.key, object: d.object } as LocatedObject;
    }),
  );
}

function populated(): Database<undefined> {
  const database = new Database<undefined>();
  const config = applyMeshConfig({}, { warning: () => undefined, error: () => undefined });
  database.commit((tx) => {
    if (config !== undefined) tx.set(meshConfig, meshConfigKey, config);
    setObjects(tx, located(mesh.objects()));
  });
  return database;
}

const figures: Figure[] = [];
const cold = [populated(), populated(), populated()].map((database) =>
  milliseconds(() => database.view(undefined).call(findings)),
);
const database = populated();
const view = database.view(undefined);
const before = heapBytes();
const found = view.follow(findings).length;
const objects = mesh.objects().filter(({ apiVersion }) => apiVersion.includes("istio.io")).length;
const fromNothing = Math.min(...cold);
figures.push({ what: "objects of Istio's kinds", value: objects, unit: "" });
figures.push({ what: "findings", value: found, unit: "" });
figures.push({ what: "from nothing", value: fromNothing, unit: "ms" });
figures.push({ what: "memory", value: (heapBytes() - before) / (services + objects), unit: "bytes an object" });

const edits: readonly ChangeKind[] = [
  "weight",
  "rule",
  "policy",
  "mtls",
  "gateway-route",
  "endpoint",
  "pod",
  "service-alone",
  "service-add",
  "service-del",
];
for (const kind of edits) {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { put, removed } = change(mesh, kind, round * 7);
    const [written, gone] = [located(put), located(removed)];
    const edit = (): void => {
      database.commit((tx) => {
        setObjects(tx, written);
        for (const { kind: of, key } of gone) tx.delete(of.collection, key);
      });
      view.follow(findings);
    };
    times.push(milliseconds(edit));
  }
  const median = [...times].sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
  figures.push({ what: `after one ${kind}`, value: (100 * median) / fromNothing, unit: "% of it" });
}
print(`analysis of ${services} services`, figures);

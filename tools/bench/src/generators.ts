// Costs of the generators in process, without streams: `npm run generators -w tools/bench -- [services] [proxies]`.
import { setObjects } from "@istiod/config-schema";
import { proxyFromNode } from "@istiod/push-context";
import { clusterType, endpointType, listenerType, type ResourceSet, routeType } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { change, type ChangeKind } from "./mesh/changes.js";
import { Mesh } from "./mesh/mesh.js";
import { located, meshDatabase, required } from "./mesh/database.js";
import { type Figure, heapBytes, milliseconds, print } from "./measure.js";

const services = Number(process.argv[2] ?? 1000);
const proxies = Number(process.argv[3] ?? 500);
const mesh = new Mesh({ services, proxies, namespaces: 20, endpoints: 2, gatewayRoutes: 0, seed: 1 });
const types = { CDS: clusterType, EDS: endpointType, LDS: listenerType, RDS: routeType };

const database = meshDatabase(mesh.objects());
const views = mesh
  .proxies()
  .map((place) => database.view(proxyFromNode({ ...place, locality: { region: place.region, zone: place.zone } })));

const last = new Map<string, (ResourceSet | undefined)[]>(Object.keys(types).map((t) => [t, []]));
const figures: Figure[] = [];

/** Asks for one type for every proxy; notes how many resources and sets are distinct. */
function ask(type: keyof typeof types, label: string): void {
  const generator = required(generators[types[type]]);
  const before = last.get(type) ?? [];
  const after: ResourceSet[] = [];
  const ms = milliseconds(() => {
    for (const view of views) after.push(view.call(generator));
  });
  last.set(type, after);
  const sets = new Set(after);
  const resources = new Set([...sets].flatMap((s) => [...s]));
  const known = new Set([...new Set(before)].flatMap((s) => (s === undefined ? [] : [...s])));
  const fresh = [...resources].filter((r) => !known.has(r));
  figures.push({ what: `${label}: ${type}`, value: ms, unit: "ms for all proxies" });
  figures.push({
    what: `${label}: ${type}, resources made`,
    value: fresh.length,
    unit: `of ${sets.size} distinct sets`,
  });
  if (fresh.length > 0) {
    figures.push({ what: `${label}: ${type}, a resource made`, value: (ms * 1000) / fresh.length, unit: "µs" });
    figures.push({
      what: `${label}: ${type}, a resource made`,
      value: fresh.reduce((n, r) => n + r.bytes.length, 0) / fresh.length,
      unit: "bytes",
    });
  }
}

function round(label: string, kind?: ChangeKind): void {
  const before = database.stats().recomputations;
  if (kind) {
    const objects = located(change(mesh, kind, 7).put);
    figures.push({
      what: `${label}: commit`,
      value: milliseconds(() => void database.commit((tx) => setObjects(tx, objects))),
      unit: "ms",
    });
  }
  for (const type of Object.keys(types) as (keyof typeof types)[]) ask(type, label);
  figures.push({ what: `${label}: queries run`, value: database.stats().recomputations - before, unit: "" });
}

const empty = heapBytes();
round("cold");
const { memos, bytes } = database.stats();
figures.push(
  { what: "memos", value: memos, unit: "" },
  { what: "records of the engine", value: bytes / memos, unit: "bytes a memo" },
);
figures.push({ what: "heap for all resources and records", value: (heapBytes() - empty) / 1e6, unit: "MB" });
round("nothing changed");
round("one weight", "weight");
round("one rule", "rule");
round("one service added", "service-add");
print(`${services} services in ${mesh.namespaces.length} namespaces, ${proxies} proxies, nothing scoped`, figures);

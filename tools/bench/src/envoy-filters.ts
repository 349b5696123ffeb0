// Costs of EnvoyFilters in process: `npm run envoy-filters -w tools/bench -- [services] [proxies]`.
import { setObjects } from "@istiod/config-schema";
import type { View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import {
  clusterType,
  endpointType,
  listenerType,
  partsOf,
  type Resource,
  type ResourceSet,
  routeType,
} from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type Figure, milliseconds, print } from "./measure.js";
import { change } from "./mesh/changes.js";
import { located, meshDatabase, required } from "./mesh/database.js";
import { Mesh } from "./mesh/mesh.js";

const services = Number(process.argv[2] ?? 1000);
const proxies = Number(process.argv[3] ?? 500);
const rounds = 3;
const changes = 5;
const types = [clusterType, endpointType, listenerType, routeType];

/** Costs of one mesh, in milliseconds of all proxies. */
interface Costs {
  readonly connect: number;
  readonly weight: number;
  /** Distinct resources that a weight change builds. */
  readonly resources: number;
  /** Distinct virtual hosts that a weight change builds. */
  readonly hosts: number;
}

/** Returns the resources of all proxies, with their bytes as a server sends them. */
function generate(views: readonly View<Proxy>[]): ReadonlySet<Resource> {
  const sets = new Set<ResourceSet>();
  for (const view of views) for (const type of types) sets.add(view.call(required(generators[type])));
  const resources = new Set<Resource>();
  for (const set of sets) for (const resource of set) resources.add(resource);
  return resources;
}

function read(resources: ReadonlySet<Resource>, known: ReadonlySet<Resource>): void {
  for (const resource of resources) if (!known.has(resource)) void resource.bytes.length;
}

function hostsOf(resources: ReadonlySet<Resource>): ReadonlySet<Uint8Array> {
  return new Set([...resources].flatMap((each) => (partsOf(each) ?? []).flatMap(({ pieces }) => pieces)));
}

function without<T>(some: ReadonlySet<T>, others: ReadonlySet<T>): number {
  return [...some].filter((each) => !others.has(each)).length;
}

function costsOf(envoyFilters: boolean, scoped: boolean): Costs {
  const mesh = new Mesh({
    services,
    proxies,
    namespaces: 20,
    endpoints: 2,
    gatewayRoutes: 50,
    scoped: scoped ? 1 : 0,
    seed: 1,
    envoyFilters,
  });
  const database = meshDatabase(mesh.objects());
  const views = mesh
    .proxies()
    .map((place) => database.view(proxyFromNode({ ...place, locality: { region: place.region, zone: place.zone } })));
  let current: ReadonlySet<Resource> = new Set();
  const connect = milliseconds(() => read((current = generate(views)), new Set()));
  let [weight, resources, hosts] = [Infinity, 0, 0];
  for (let at = 0; at < changes; at++) {
    const before = current;
    const edit = located(change(mesh, "weight", 7).put);
    const cost = milliseconds(() => {
      database.commit((tx) => setObjects(tx, edit));
      read((current = generate(views)), before);
    });
    weight = Math.min(weight, cost);
    [resources, hosts] = [without(current, before), without(hostsOf(current), hostsOf(before))];
  }
  return { connect, weight, resources, hosts };
}

function least(some: Costs | undefined, others: Costs): Costs {
  if (some === undefined) return others;
  return { ...others, connect: Math.min(some.connect, others.connect), weight: Math.min(some.weight, others.weight) };
}

const figures: Figure[] = [];
for (const scoped of [true, false]) {
  let [none, all]: [Costs | undefined, Costs | undefined] = [undefined, undefined];
  // In turns, so that both have the same share of what else the machine does. The first round compiles.
  for (let round = 0; round < rounds; round++) {
    none = least(none, costsOf(false, scoped));
    all = least(all, costsOf(true, scoped));
  }
  if (none === undefined || all === undefined) continue;
  const row = (what: string, value: number, unit: string): void =>
    void figures.push({ what: `${scoped ? "scoped" : "nothing scoped"}: ${what}`, value, unit });
  for (const step of ["connect", "weight"] as const) {
    row(`${step}, without EnvoyFilters`, none[step], "ms for all proxies");
    row(`${step}, with 20`, all[step], "ms for all proxies");
    row(`${step}, ratio`, all[step] / none[step], "");
  }
  row("resources that a weight change builds, without", none.resources, "");
  row("resources that a weight change builds, with 20", all.resources, "");
  row("virtual hosts that a weight change builds, without", none.hosts, "");
  row("virtual hosts that a weight change builds, with 20", all.hosts, "");
}
print(`${services} services in 20 namespaces, ${proxies} proxies and 2 gateways`, figures);

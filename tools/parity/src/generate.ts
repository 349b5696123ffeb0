import { readFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import {
  applyMeshConfig,
  decode,
  environment,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  readMeshNetworks,
  setObjects,
  type LocatedObject,
  type Report,
} from "@istiod/config-schema";
import { Database, type Transaction, type View } from "@istiod/incremental";
import { proxyFromNode, type Proxy } from "@istiod/push-context";
import {
  clusterType,
  endpointType,
  extensionConfigType,
  listenerType,
  nameTableType,
  ResourceSet,
  routeType,
} from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { parse } from "yaml";
import { requestedAssignments, requestedExtensions } from "./requested-names.js";
import {
  environmentOf,
  fileOf,
  isObject,
  objectsOf,
  type Json,
  type JsonObject,
  type Scenario,
  type ScenarioProxy,
  type Type,
} from "./scenario.js";

/** The type URL of each kind of resources. */
export const typeUrls: Readonly<Record<Type, string>> = {
  cds: clusterType,
  eds: endpointType,
  lds: listenerType,
  rds: routeType,
  ecds: extensionConfigType,
  nds: nameTableType,
};

/**
 * Generates the resources of each proxy of a scenario. Returns bytes by resource name, by "key type".
 *
 * @param extensions names of the extensions that each proxy's Envoy has; default: those of Istio's build
 */
export function generate(
  s: Scenario,
  types: readonly Type[],
  extensions?: readonly string[],
): Map<string, Map<string, Uint8Array>> {
  return generateFrom(load(s), s, types, extensions);
}

/** Generates the resources of each proxy of a scenario from a database that holds its objects. */
export function generateFrom(
  database: Database<Proxy>,
  s: Scenario,
  types: readonly Type[],
  extensions?: readonly string[],
): Map<string, Map<string, Uint8Array>> {
  const out = new Map<string, Map<string, Uint8Array>>();
  for (const proxy of s.proxies) {
    const view = database.view(proxyOf(proxy, extensions));
    for (const t of types) out.set(`${proxy.key} ${t}`, resourcesOf(view, t));
    view.release();
  }
  return out;
}

/** A database that holds the objects, mesh configuration and environment of a scenario. */
export function load(s: Scenario): Database<Proxy> {
  const database = databaseOf(objectsOf(s), { rejected: (reason) => console.error(`${s.name}: ${reason}`) });
  database.commit((tx) => writeMesh(tx, s));
  return database;
}

export interface DatabaseOptions {
  /** Environment variables. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Receives the reason for which an object is rejected. */
  readonly rejected: (reason: string) => void;
}

/** Returns a database that holds objects, with the default mesh configuration. */
export function databaseOf(objects: readonly JsonObject[], { env = {}, rejected }: DatabaseOptions): Database<Proxy> {
  const database = new Database<Proxy>();
  const accepted: LocatedObject[] = [];
  for (const document of objects) {
    for (const d of decode(document)) {
      if (d.outcome === "accepted") accepted.push({ kind: d.kind, key: d.key, object: d.object } as LocatedObject);
      if (d.outcome === "rejected") {
        const about = d.subject ? `${d.subject.kind} ${d.subject.namespace}/${d.subject.name}` : "an object";
        rejected(`${about} refused: ${d.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; ")}`);
      }
    }
  }
  database.commit((tx) => {
    setObjects(tx, accepted);
    tx.set(meshConfig, meshConfigKey, required(applyMeshConfig({}, strict)));
    for (const [name, value] of Object.entries(env)) tx.set(environment, name, value);
  });
  return database;
}

/** Writes the mesh configuration, the networks and the environment of a scenario. */
export function writeMesh(tx: Transaction, s: Scenario): void {
  tx.set(meshConfig, meshConfigKey, required(applyMeshConfig(jsonFile(s, "mesh.yaml"), strict)));
  tx.set(meshNetworks, meshNetworksKey, required(readMeshNetworks(jsonFile(s, "networks.yaml"), strict)));
  for (const [name, value] of Object.entries(environmentOf(s))) tx.set(environment, name, value);
}

/** Fails on the first error, because a scenario has none. */
const strict: Report = {
  warning: () => undefined,
  error: (path, message) => {
    throw new Error(`${path.join(".")}: ${message}`);
  },
};

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("refused without a reason");
  return value;
}

function jsonFile(s: Scenario, name: string): JsonValue {
  const file = fileOf(s, name);
  return file ? ((parse(readFileSync(file, "utf8")) ?? {}) as JsonValue) : {};
}

/** Returns the resources of a type that a client requests, encoded, by name. */
export function resourcesOf(view: View<Proxy>, t: Type): Map<string, Uint8Array> {
  const generator = generators[typeUrls[t]];
  if (!generator) return new Map();
  const found = [...view.call(generator)];
  const requested = requestedNames(view, t);
  return new Map(
    found
      .filter(({ name }) => requested === undefined || requested.has(name))
      .map((r) => [t === "nds" ? "" : r.name, r.bytes]),
  );
}

/** Returns the names that a client requests of a type; undefined for a type that is compared as a whole. */
function requestedNames(view: View<Proxy>, t: Type): ReadonlySet<string> | undefined {
  const all = (typeUrl: string): ResourceSet => {
    const generator = generators[typeUrl];
    return generator === undefined ? ResourceSet.empty : view.call(generator);
  };
  if (t === "eds") return requestedAssignments(all(clusterType));
  return t === "ecds" ? requestedExtensions(all(listenerType)) : undefined;
}

function proxyOf({ node }: ScenarioProxy, extensions?: readonly string[]): Proxy {
  const text = (v: Json | undefined): string => (typeof v === "string" ? v : "");
  const locality = { region: text(node["region"]), zone: text(node["zone"]), subzone: text(node["subzone"]) };
  const identity = text(node["verifiedServiceAccount"]);
  const proxy = proxyFromNode({
    id: text(node["id"]),
    cluster: text(node["cluster"]),
    ...(locality.region + locality.zone + locality.subzone === "" ? {} : { locality }),
    metadata: (isObject(node["metadata"]) ? node["metadata"] : {}) as JsonObject,
    ...(extensions ? { extensions } : {}),
  });
  if (identity === "") return proxy;
  return { ...proxy, verifiedIdentity: { namespace: proxy.namespace, serviceAccount: identity } };
}

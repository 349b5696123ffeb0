import type { Database, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { generators, lookups } from "@istiod/xds-generators";
import { isJsonObject, type Json } from "./json-difference.js";
import { resourceJson } from "./resource-types.js";

const prefix = "type.googleapis.com/";
const clusterType = `${prefix}envoy.config.cluster.v3.Cluster`;
const listenerType = `${prefix}envoy.config.listener.v3.Listener`;
const endpointType = `${prefix}envoy.config.endpoint.v3.ClusterLoadAssignment`;
const routeType = `${prefix}envoy.config.route.v3.RouteConfiguration`;
const secretType = `${prefix}envoy.extensions.transport_sockets.tls.v3.Secret`;

/**
 * Returns the resources that a proxy would have once connected, by type URL: all clusters and listeners, and the
 * endpoints, route configurations and secrets that these reference. Excludes secrets that the agent provides.
 */
export function proxyResources(database: Database<Proxy>, proxy: Proxy): ReadonlyMap<string, readonly Resource[]> {
  const view = database.view(proxy);
  try {
    const [clusters, listeners] = [clusterType, listenerType].map((type) => generatedResources(view, type));
    const references = new References();
    for (const { name, bytes } of clusters ?? []) references.addCluster(name, resourceJson(clusterType, bytes));
    for (const { bytes } of listeners ?? []) references.add(resourceJson(listenerType, bytes));
    return new Map([
      [clusterType, clusters ?? []],
      [endpointType, namedResources(view, endpointType, references.assignments)],
      [listenerType, listeners ?? []],
      [routeType, namedResources(view, routeType, references.routes)],
      [secretType, namedResources(view, secretType, references.secrets)],
    ]);
  } finally {
    view.release();
  }
}

/** Names of referenced resources, by type. */
class References {
  readonly assignments = new Set<string>();
  readonly routes = new Set<string>();
  readonly secrets = new Set<string>();

  addCluster(name: string, cluster: Json): void {
    if (isJsonObject(cluster) && cluster["type"] === "EDS") {
      const config = cluster["edsClusterConfig"];
      const service = isJsonObject(config) ? config["serviceName"] : undefined;
      this.assignments.add(typeof service === "string" ? service : name);
    }
    this.add(cluster);
  }

  /** Adds the references in a resource, at any depth. */
  add(json: Json): void {
    if (Array.isArray(json)) json.forEach((item) => this.add(item));
    if (!isJsonObject(json)) return;
    const { rds, sdsConfig, name } = json;
    if (isJsonObject(rds) && typeof rds["routeConfigName"] === "string") this.routes.add(rds["routeConfigName"]);
    if (sdsConfig !== undefined && typeof name === "string") this.secrets.add(name);
    for (const value of Object.values(json)) if (value !== undefined) this.add(value);
  }
}

function generatedResources(view: View<Proxy>, type: string): readonly Resource[] {
  const generator = generators[type];
  return generator === undefined ? [] : [...view.call(generator)];
}

function namedResources(view: View<Proxy>, type: string, names: ReadonlySet<string>): readonly Resource[] {
  const [generator, lookup] = [generators[type], lookups[type]];
  const set = generator && view.call(generator);
  return [...names]
    .sort()
    .map((name) => set?.get(name) ?? (lookup && view.call(lookup, name)))
    .filter((resource) => resource !== undefined);
}

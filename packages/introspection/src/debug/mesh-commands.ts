import {
  allKinds,
  authorizationPolicies,
  istioKinds,
  meshConfig,
  meshConfigKey,
  readDiscovered,
  telemetries,
} from "@istiod/config-schema";
import type { Collection, Database, Query } from "@istiod/incremental";
import { noProxy, type Proxy } from "@istiod/push-context";
import type { Faults } from "@istiod/explain";
import { cacheCommand } from "./cache.js";
import type { ClusterState } from "../status/source-statuses.js";
import { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./command.js";
import { multiClusterInfos } from "./multi-cluster-services.js";
import { authorizationForm, telemetriesForm, timeForm } from "./istio-forms.js";
import { plain } from "./plain.js";
import { authorizationOfClient, instances, sidecarScope, telemetryOfClient } from "./proxy-state.js";
import { crossNetworkGateways, endpointShards, registry, unresolvedGateways } from "./registry.js";
import { ofProxy, type ProxyCommandsOptions } from "./proxy-commands.js";

export interface MeshCommandsOptions extends ProxyCommandsOptions {
  readonly database: Database<Proxy>;
  /** Returns the faults in what proxies are served, by Istio's gauges that count them. */
  readonly faults: () => Readonly<Record<string, Faults>>;
  /** The clusters whose objects are read. */
  readonly clusters: () => readonly ClusterState[];
}

/** Returns the commands about the mesh: its objects and the model built from them. */
export function meshCommands(options: MeshCommandsOptions): readonly DebugCommand[] {
  return [...serviceCommands(options), ...policyCommands(options), ...objectCommands(options)];
}

function serviceCommands({ database, server, proxyOf }: MeshCommandsOptions): readonly DebugCommand[] {
  const shards: DebugCommand["answer"] = () => json(evaluate(database, endpointShards));
  const gateways: DebugCommand["answer"] = () => json(evaluate(database, crossNetworkGateways));
  return [
    {
      name: "registryz",
      about: "Services that this istiod knows",
      answer: () => json(evaluate(database, registry)),
    },
    { name: "endpointShardz", about: "Endpoints by service, namespace and cluster", answer: shards },
    { name: "endpointz", about: "Obsolete, use endpointShardz", answer: shards },
    {
      name: "instancesz",
      about: "Services of each connected proxy",
      answer: () =>
        json(
          Object.fromEntries(
            server
              .connections()
              .map(proxyOf)
              .map((proxy) => [proxy.id, evaluate(database, instances, proxy)]),
          ),
        ),
    },
    {
      name: "sidecarz",
      about: "Sidecar scope of a proxy; ?proxyID=",
      answer: (request) =>
        ofProxy({ server, proxyOf }, request, (each) =>
          json({
            version: String(database.revision),
            ...(evaluate(database, sidecarScope, proxyOf(each)) as object),
          }),
        ),
    },
    { name: "networkz", about: "Gateways between networks", answer: gateways },
    {
      name: "mcsz",
      about: "Exports and imports of clusters (Multi-Cluster Services API)",
      answer: () => json(evaluate(database, multiClusterInfos)),
    },
  ];
}

function policyCommands({ database, server, proxyOf, faults }: MeshCommandsOptions): readonly DebugCommand[] {
  const rootNamespace = (): string => database.read(meshConfig, meshConfigKey)?.rootNamespace || "istio-system";
  const authorization = (): object => authorizationForm(discovered(database, authorizationPolicies), rootNamespace());
  const ofRequestedProxy = (request: DebugRequest, query: Query<void, unknown>): DebugAnswer | Promise<DebugAnswer> =>
    ofProxy({ server, proxyOf }, request, (connection) => json(evaluate(database, query, proxyOf(connection))));
  return [
    {
      name: "authorizationz",
      about: "Authorization policies, of all or of one proxy; ?proxyID=",
      answer: (request) =>
        request.query.has("proxyID")
          ? ofRequestedProxy(request, authorizationOfClient)
          : json({ authorization_policies: authorization() }),
    },
    {
      name: "telemetryz",
      about: "Telemetry settings, of all or of one proxy; ?proxyID=",
      answer: (request) =>
        request.query.has("proxyID")
          ? ofRequestedProxy(request, telemetryOfClient)
          : json({ telemetries: telemetriesForm(discovered(database, telemetries), rootNamespace()) }),
    },
    {
      name: "push_status",
      about: "Faults in the configuration of connected proxies, by metric",
      answer: () => {
        const counts = Object.entries(faults()).map(([metric, found]) => [metric, Object.fromEntries(found)]);
        return json(Object.fromEntries(counts));
      },
    },
    {
      name: "pushcontext",
      about: "Policies and network gateways",
      answer: () =>
        json({
          AuthorizationPolicies: authorization(),
          NetworkGateways: evaluate(database, crossNetworkGateways),
          UnresolvedGateways: evaluate(database, unresolvedGateways),
        }),
    },
  ];
}

function objectCommands({ database, server, clusters }: MeshCommandsOptions): readonly DebugCommand[] {
  return [
    { name: "configz", about: "Accepted Istio objects", answer: () => json(configs(database)) },
    {
      name: "resourcesz",
      about: "Kinds of objects that are read",
      answer: () => json(allKinds.map(({ group, versions, kind }) => ({ group, version: versions[0] ?? "", kind }))),
    },
    cacheCommand(database, server),
    {
      name: "mesh",
      about: "Current mesh configuration",
      answer: () => json(plain(database.read(meshConfig, meshConfigKey) ?? {})),
    },
    {
      name: "clusterz",
      about: "Clusters whose objects are read",
      answer: () => json(clusters()),
    },
    {
      name: "ambientz",
      about: "Ambient mode",
      answer: () => textAnswer(501, "this istiod does not serve ambient mode"),
    },
    {
      name: "krtz",
      about: "Number of objects of each kind",
      answer: () => json(Object.fromEntries(allKinds.map(({ collection: of }) => [of.name, database.keys(of).length]))),
    },
  ];
}

function json(value: unknown): DebugAnswer {
  return { json: value };
}

/** Evaluates a query for a proxy and returns the result as plain JSON. */
function evaluate<R>(database: Database<Proxy>, query: Query<void, R>, proxy: Proxy = noProxy): unknown {
  const view = database.view(proxy);
  try {
    return plain(view.call(query));
  } finally {
    view.release();
  }
}

/** Returns the objects of a collection as queries see them. */
function discovered<V>(database: Database<Proxy>, collection: Collection<V>): readonly V[] {
  return database.keys(collection).flatMap((key) => readDiscovered(database, collection, key) ?? []);
}

function configs(database: Database<Proxy>): object[] {
  return istioKinds.flatMap(({ kind, group, versions, collection }) =>
    discovered(database, collection).map(({ namespace, name, labels, annotations, creationTimestamp, spec }) => ({
      apiVersion: `${group}/${versions[0] ?? ""}`,
      kind,
      metadata: {
        name,
        namespace,
        creationTimestamp: creationTimestamp === 0 ? null : timeForm(creationTimestamp),
        ...(Object.keys(labels).length > 0 && { labels }),
        ...(Object.keys(annotations).length > 0 && { annotations }),
      },
      spec: plain(spec),
    })),
  );
}

import { formatPath, virtualServiceKind, type VirtualServiceObject, virtualServices } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import {
  destinationRuleForWorkload,
  destinationService,
  features,
  isSameForAllWorkloads,
  reasonUnapplied,
  resolveHost,
  ruleLookupSettings,
  rulesDefiningSubset,
  rulesForHost,
  serviceVisibility,
} from "@istiod/push-context";
import { aliasedHost, hasLabels, service } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { type ClientClass, gatewaysWith, namespacesWithSidecars, sidecarsWith } from "../../queries/clients.js";
import { destinationHost } from "../../queries/destination-hosts.js";
import { formatSelector } from "../../queries/pods.js";
import { listNames } from "../../suggestions.js";
import { type RouteDestination, routeDestinations } from "../virtual-service/destinations.js";
import { includesClient, type RouteSource, routeSources } from "../virtual-service/sources.js";

export const absentClusterAnalyzer: Analyzer = {
  name: "mesh.ClusterAnalyzer",
  description: "Checks that clients that get a route have the cluster of its destination",
  codes: ["MESH0024"],
  rules: [rule(virtualServiceKind, virtualServices, checkClusters)],
};

/** VirtualServices by the delegates that they name, `namespace/name`. */
const byDelegate = index(virtualServices, "byNamedDelegate", ({ namespace, spec }) =>
  spec.http.flatMap(({ delegate }) =>
    delegate === undefined ? [] : [`${delegate.namespace || namespace}/${delegate.name}`],
  ),
);

function checkClusters(object: VirtualServiceObject, context: AnalysisContext): void {
  const { namespace, name, spec } = object;
  const own = `${namespace}/${name}`;
  // A delegate's routes are those of the VirtualServices that delegate to it.
  const roots =
    spec.hosts.length > 0 ? [own] : context.q.read(byDelegate, own).map((root) => `${root.namespace}/${root.name}`);
  for (const destination of routeDestinations(spec)) {
    checkWildcard(object, destination, context);
    for (const root of roots) if (checkDestination(root, object, destination, context)) break;
  }
}

/**
 * Reports a destination that only a wildcard host declares. Proxies have a cluster for the wildcard host, and none for
 * the hosts within it.
 */
function checkWildcard(
  { namespace, spec }: VirtualServiceObject,
  { host, path }: RouteDestination,
  { q, report }: AnalysisContext,
): void {
  if (host === "") return;
  const declared = q.call(destinationHost, { host, namespace, exportTo: spec.exportTo });
  if (declared?.wildcard === undefined) return;
  const hostname = resolveHost(host, { namespace, domain: features.domainSuffix(q) });
  const target = q.call(aliasedHost, hostname) ?? host;
  report(
    "MESH0024",
    [...path, "host"],
    `${formatPath(path.slice(1))} leads to ${target}, for which no client has a cluster, so that ${failureAt(path)}: ServiceEntry ${listNames(declared.serviceEntries)} declares only ${JSON.stringify(declared.wildcard)}; declare ${JSON.stringify(target)} in a ServiceEntry`,
  );
}

/** Returns the consequence of a missing cluster for the clients of an HTTP, TCP or TLS route. */
function failureAt(path: readonly unknown[]): string {
  return path[1] === "http" ? "their requests fail (503, no cluster)" : "their connections are closed";
}

interface Target {
  readonly host: string;
  readonly subset: string;
}

/** Reports a destination whose cluster some clients lack, once for each reason. Returns whether there are any. */
function checkDestination(
  root: string,
  { namespace, spec }: VirtualServiceObject,
  { host, subset, path }: RouteDestination,
  { q, report }: AnalysisContext,
): boolean {
  if (host === "") return false;
  const hostname = resolveHost(host, { namespace, domain: features.domainSuffix(q) });
  const target = { host: q.call(aliasedHost, hostname) ?? hostname, subset };
  const clients = new Map<string, string[]>();
  for (const client of distinctClients(q, root, target, routeSources(spec, path, namespace))) {
    const reason = reasonAbsent(q, client, target);
    if (reason !== undefined) clients.set(reason, [...(clients.get(reason) ?? []), formatClient(client)]);
  }
  const cluster = `${subset === "" ? "" : `subset ${JSON.stringify(subset)} of `}${target.host}`;
  for (const [reason, lacking] of clients) {
    report(
      "MESH0024",
      [...path, subset === "" ? "host" : "subset"],
      `${formatPath(path.slice(1))} leads to ${cluster}, which ${listNames([...new Set(lacking)])} do not have, so that ${failureAt(path)}: ${reason}`,
    );
  }
  return clients.size > 0;
}

/**
 * Returns clients that get the route, one for each class that may have another cluster: of each namespace that sees
 * other rules or services than the rest, of one more, and of each set of labels where selectors matter.
 */
function distinctClients(
  q: QueryContext,
  root: string,
  { host, subset }: Target,
  sources: readonly RouteSource[],
): readonly ClientClass[] {
  const seen = q.call(serviceVisibility, host);
  const [serviceNamespace, ...moreOwners] = seen.owners;
  if (serviceNamespace === undefined) return [];
  const isSame = moreOwners.length === 0 && isSameForAllWorkloads(q, { host, serviceNamespace });
  if (!seen.limited && (subset === "" || isSame)) return [];
  const rules = subset === "" ? [] : rulesForHost(q, host);
  const special = new Set([
    ...seen.owners,
    ...seen.namespaces,
    ...rules.flatMap(({ namespace, spec }) => [namespace, ...spec.exportTo]),
    ...sources.map(({ namespace }) => namespace),
  ]);
  const isSource = (client: ClientClass): boolean => sources.some((source) => includesClient(source, client));
  const clients: ClientClass[] = [];
  let seenOther = false;
  for (const namespace of q.call(namespacesWithSidecars)) {
    const isSpecial = special.has(namespace);
    if (!isSpecial && seenOther) continue;
    const found = sidecarsWith(q, root, namespace)
      .map((labels): ClientClass => ({ namespace, labels }))
      .filter(isSource);
    seenOther ||= !isSpecial && found.length > 0;
    const byLabels = rules.some((each) => each.namespace === namespace && each.spec.workloadSelector !== undefined);
    clients.push(...(byLabels ? found.map((each) => ({ ...each, byLabels })) : found.slice(0, 1)));
  }
  return [...clients, ...gatewaysWith(q, root).filter(isSource)];
}

/** Explains why a client has no cluster for a destination; undefined if it has one, or if nobody has. */
function reasonAbsent(q: QueryContext, client: ClientClass, { host, subset }: Target): string | undefined {
  const id = destinationService(q, host, client.namespace);
  const found = id === undefined ? undefined : q.call(service, id);
  if (found === undefined) {
    const owners = q.call(serviceVisibility, host).owners;
    return `its service, of namespace ${listNames(owners)}, is not exported to namespace ${client.namespace}`;
  }
  if (subset === "") return undefined;
  const destination = { host, serviceNamespace: found.namespace };
  const applied = destinationRuleForWorkload(q, destination, client);
  if (applied?.spec.subsets.some(({ name }) => name === subset) === true) return undefined;
  const settings = ruleLookupSettings(q);
  const explained = {
    namespace: client.namespace,
    selectedBy: (labels: Readonly<Record<string, string>>) => hasLabels(client.labels, labels),
  };
  const reasons = rulesDefiningSubset(q, host, subset).map(
    (each) =>
      `DestinationRule ${each.namespace}/${each.name}, which defines it, ${reasonUnapplied(settings, each, destination, explained, applied)}`,
  );
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

function formatClient({ namespace, labels, gateway, byLabels }: ClientClass): string {
  if (gateway !== undefined) return `the proxies of Gateway ${gateway} in namespace ${namespace}`;
  return `sidecars of namespace ${namespace}${byLabels === true ? ` with the labels ${formatSelector(labels)}` : ""}`;
}

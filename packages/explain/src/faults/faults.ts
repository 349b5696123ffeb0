import { consequenceWithoutHttp, rulesOfUndeclaredPorts } from "@istiod/analysis";
import { authorizationPolicies } from "@istiod/config-schema";
import { query, type View } from "@istiod/incremental";
import { type Proxy, serviceTargets } from "@istiod/push-context";
import { endpointType, type ResourceSet } from "@istiod/resources";
import { emptyAssignments, generators, omissions, type Omissions } from "@istiod/xds-generators";
import { ignoredConfig, type IgnoredConfig } from "../ignored/ignored-config.js";
import { ignoredAtListener } from "../ignored/listener-conflicts.js";
import { unservedProviderPart } from "../ignored/unserved-providers.js";
import type { MeshClient } from "./mesh-client.js";
import type { MeshCounts } from "./mesh-counts.js";
import { patchStatuses } from "./patch-statuses.js";

/** Faults of one kind by name, each with one of the affected proxies or a message, as in `/debug/push_status`. */
export type Faults = ReadonlyMap<string, { readonly proxy?: string; readonly message?: string }>;

/** Istio's gauges that count faults by name, with their help. */
export const faultGauges = {
  pilot_vservice_dup_domain: "Virtual hosts of connected sidecars that are duplicates, or that lost domains to others.",
  pilot_endpoint_not_ready: "Connected proxies whose own endpoint is not ready.",
  pilot_eds_no_instances: "Clusters of connected proxies that are discovered by EDS and have no endpoint.",
  pilot_duplicate_envoy_clusters: "Duplicate clusters of connected proxies.",
  pilot_dns_cluster_without_endpoints:
    "Clusters left out for connected proxies, because there is no endpoint for them to resolve.",
  pilot_conflict_outbound_listener_tcp_over_current_tcp:
    "Listeners of connected sidecars on which TCP services cannot be distinguished.",
  istiod_omitted_config_parts:
    "Fields of objects that are left out of listeners of connected proxies, because of a conflict, because Envoy would reject the listener, or because the proxies lack an extension, patches of EnvoyFilters that are skipped, and providers whose cluster the proxies lack.",
  pilot_conflict_inbound_listener: "Connected sidecars two of whose services name different protocols for one port.",
  pilot_no_ip: "Connected sidecars that implement no service: their pods are in no endpoint table.",
  pilot_destrule_subsets: "Hosts for which DestinationRules of one namespace have duplicate subsets.",
  endpoint_no_pod: "Services with an endpoint whose pod is not known.",
} as const;

export type FaultGauge = keyof typeof faultGauges;

export type FaultsByGauge = Readonly<Record<FaultGauge, Faults>>;

const gaugeOfOmission: Readonly<
  Record<
    Exclude<
      keyof Omissions,
      "hasInboundConflict" | "listenerConflicts" | "cannotAnnounceHttp" | "skippedPatches" | "unservedProviders"
    >,
    FaultGauge
  >
> = {
  duplicateDomains: "pilot_vservice_dup_domain",
  duplicateClusters: "pilot_duplicate_envoy_clusters",
  dnsClustersWithoutEndpoints: "pilot_dns_cluster_without_endpoints",
  conflictingOutboundListeners: "pilot_conflict_outbound_listener_tcp_over_current_tcp",
};

const withoutTargets = query("metrics.withoutTargets", (q): boolean => q.ask(serviceTargets).length === 0);

/** Reports whether a client is a sidecar that implements no service. */
export function isUntargeted({ proxy, view }: MeshClient): boolean {
  return proxy.type === "sidecar" && view.call(withoutTargets);
}

/** A part of an object that is left out of listeners of connected proxies, or does not apply to their requests. */
export interface OmittedPart extends IgnoredConfig {
  readonly field: string;
  /** Number of these proxies. */
  readonly proxies: number;
  /** Node ID of one of them. */
  readonly proxy: string;
}

/**
 * Returns the parts of objects that are left out of clients' listeners, because of a conflict or because Envoy would
 * reject the listener, rules that do not match their requests, because they cannot announce HTTP, patches of
 * EnvoyFilters that match nothing or are skipped, and providers for traces and logs whose cluster the clients lack. One
 * part has several entries if the reasons differ.
 */
export function omittedParts(clients: readonly MeshClient[]): readonly OmittedPart[] {
  const found = new Map<string, OmittedPart>();
  /** Results that clients share are described once. */
  const described = new Map<Omissions, readonly DescribedPart[]>();
  for (const { proxy, view } of clients) {
    const omitted = omissionsOf(view);
    const parts = described.get(omitted) ?? partsOf(view, omitted);
    described.set(omitted, parts);
    const own = new Map(
      parts.map((part) => [JSON.stringify([part.kind, part.namespace, part.name, part.reason]), part]),
    );
    for (const [key, part] of own) {
      const known = found.get(key);
      found.set(key, { ...part, proxies: (known?.proxies ?? 0) + 1, proxy: known?.proxy ?? proxy.nodeId });
    }
  }
  const unmatched = patchStatuses(clients).filter(({ resources, failures }) => resources + failures.length === 0);
  return [
    ...found.values(),
    ...unmatched.map(({ filter, index, selected, proxy }) => ({
      ...patchPart(filter, index, "matches no resource"),
      proxies: selected,
      proxy,
    })),
  ];
}

const noOmissions: Omissions = {
  duplicateClusters: [],
  dnsClustersWithoutEndpoints: [],
  duplicateDomains: [],
  conflictingOutboundListeners: [],
  listenerConflicts: [],
  hasInboundConflict: false,
  cannotAnnounceHttp: false,
  skippedPatches: [],
  unservedProviders: [],
};

/** Returns what is omitted from a client's resources; nothing if what is planned for it cannot be read. */
export function omissionsOf(view: View<Proxy>): Omissions {
  try {
    return view.call(omissions);
  } catch {
    return noOmissions;
  }
}

type DescribedPart = IgnoredConfig & { readonly field: string };

function partsOf(
  view: View<Proxy>,
  { listenerConflicts, cannotAnnounceHttp, skippedPatches, unservedProviders }: Omissions,
): readonly DescribedPart[] {
  return [
    ...listenerConflicts.map((conflict) => ignoredAtListener(view, conflict)),
    ...(cannotAnnounceHttp ? view.call(rulesWithoutHttp) : []),
    ...skippedPatches.flatMap(({ filter, index, failures }) =>
      failures.map((failure) => patchPart(filter, index, `is skipped: ${failure}`)),
    ),
    ...unservedProviders.map(unservedProviderPart),
  ];
}

function patchPart(filter: string, index: number, predicate: string): DescribedPart {
  const field = `spec.configPatches[${index}]`;
  return { ...ignoredConfig("EnvoyFilter", filter, `${field} ${predicate}`, { field }), field };
}

/** Rules of AuthorizationPolicies that requests of proxies without an announcement of HTTP do not match. */
const rulesWithoutHttp = query("explain.rulesWithoutHttp", (q): readonly DescribedPart[] =>
  q.keys(authorizationPolicies).flatMap((key) =>
    q.call(rulesOfUndeclaredPorts, key).map((rule) => {
      const field = `spec.rules[${rule.index}]`;
      const reason = `${field} ${consequenceWithoutHttp(rule)}, and an Envoy without set_filter_state does not announce HTTP over mutual TLS; declare the protocol by the port's name or appProtocol`;
      return { ...ignoredConfig("AuthorizationPolicy", key, reason), field };
    }),
  ),
);

/** Returns the parts of objects that are left out of listeners, as in `/debug/push_status`, with their reasons. */
export function omittedReasons(view: View<Proxy>, omitted: Omissions): ReadonlyMap<string, string> {
  const parts = partsOf(view, omitted);
  return new Map(
    parts.map(({ kind, namespace, name, field, reason }) => [`${kind} ${namespace}/${name} ${field}`, reason]),
  );
}

function assignmentsOf(view: View<Proxy>): ResourceSet | undefined {
  try {
    return generators[endpointType] && view.call(generators[endpointType]);
  } catch {
    return undefined;
  }
}

/** Returns the faults of the mesh in what the clients are served. A name counts once, however many clients have it. */
export function faultsOf(mesh: MeshCounts, clients: readonly MeshClient[]): FaultsByGauge {
  const faults = Object.fromEntries(Object.keys(faultGauges).map((gauge) => [gauge, new Map()])) as Record<
    FaultGauge,
    Map<string, { proxy?: string; message?: string }>
  >;
  for (const host of mesh.duplicateSubsets) faults.pilot_destrule_subsets.set(host, {});
  for (const { service, address } of mesh.withoutPod) faults.endpoint_no_pod.set(service, { message: address });
  const notReady = new Set(mesh.notReady);
  /** Results that clients share are read once. */
  const read = new Set<unknown>();
  const isFirst = (value: unknown): boolean => !read.has(value) && read.add(value).size > 0;
  for (const client of clients) {
    const { proxy, view } = client;
    const of = { proxy: proxy.nodeId };
    const omitted = omissionsOf(view);
    if (isFirst(omitted)) {
      for (const [kind, gauge] of Object.entries(gaugeOfOmission))
        for (const name of omitted[kind as keyof typeof gaugeOfOmission]) faults[gauge].set(name, of);
      for (const [part, message] of omittedReasons(view, omitted))
        faults.istiod_omitted_config_parts.set(part, { ...of, message });
    }
    const assignments = assignmentsOf(view);
    if (assignments !== undefined && isFirst(assignments))
      for (const name of emptyAssignments(assignments)) faults.pilot_eds_no_instances.set(name, of);
    if (omitted.hasInboundConflict) faults.pilot_conflict_inbound_listener.set(proxy.nodeId, of);
    if (isUntargeted(client)) faults.pilot_no_ip.set(proxy.nodeId, of);
    if (notReady.has(proxy.ipAddresses[0] ?? "")) faults.pilot_endpoint_not_ready.set(proxy.nodeId, of);
  }
  return faults;
}

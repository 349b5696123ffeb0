import { peerAuthentications, virtualServices } from "@istiod/config-schema";
import { type Database, query, type View } from "@istiod/incremental";
import {
  applicableAuthorizationPolicies,
  destinationRuleFor,
  features,
  isExportedTo,
  meshGateway,
  type Proxy,
  proxyFromNode,
  proxyNamed,
  type ResolvedVirtualService,
  rootNamespace,
  selectorMatches,
  virtualService,
  virtualServiceHeader,
  workloadPeerModes,
} from "@istiod/push-context";
import type { Pod } from "../cluster/pod-of.js";
import { describeDestinationRule, subsetMatch } from "./describe-destination-rule.js";
import type { ServiceObject } from "./describe-service.js";
import { describeVirtualService } from "./describe-virtual-service.js";

const meshNames = query("describe.meshNames", (q) => ({ root: rootNamespace(q), domain: features.domainSuffix(q) }));

/**
 * Describes the configuration of requests to a Service, as the first of its Pods sees it: the DestinationRule, the
 * VirtualServices of the mesh and of gateways, and the policies that decide on requests.
 */
export function describeMesh(
  database: Database<Proxy>,
  { metadata: service }: ServiceObject,
  pods: readonly Pod[],
  commandNamespace: string,
): string {
  const [pod] = pods;
  if (pod?.status?.podIP === undefined) return "";
  const { name, namespace } = pod.metadata;
  return inView(database, proxyNamed(database, `${name}.${namespace}`), (view) => {
    const host = `${service.name}.${service.namespace}.svc.${view.call(meshNames).domain}`;
    const rule = view.call(destinationRuleFor, { host, serviceNamespace: service.namespace });
    const labels = pods.map(({ metadata }) => metadata.labels ?? {});
    const subsets = subsetMatch(rule?.spec.subsets ?? [], labels);
    const describe = (resolved: ResolvedVirtualService): string =>
      describeVirtualService(resolved, { host, subsets, hasRule: rule !== undefined, commandNamespace });
    const routes = routesTo(database, view, host);
    const ofMesh = routes.filter(
      ({ gateways, resolved }) => gateways.includes(meshGateway) && isExportedTo(resolved.exportedTo, namespace),
    );
    const ofGateways = routes.flatMap(({ gateways, resolved }) => {
      const own = gateways.filter((gateway) => gateway !== meshGateway);
      return own.length === 0
        ? []
        : [`Exposed on Gateway ${own.join(", ")} for ${resolved.spec.hosts.join(", ")}\n${describe(resolved)}`];
    });
    return [
      ...(rule ? [describeDestinationRule(rule, subsets, commandNamespace)] : []),
      ...ofMesh.map(({ resolved }) => describe(resolved)),
      describePolicies(view),
      ...ofGateways,
    ].join("");
  });
}

/** Describes the mutual TLS that a Pod demands, and the policies that say so. */
export function describePeerAuthentication(database: Database<Proxy>, { metadata }: Pod): string {
  const { namespace, labels = {} } = metadata;
  const anyClient = proxyFromNode({
    id: `router~127.0.0.1~${metadata.name}.${namespace}~${namespace}.svc.cluster.local`,
  });
  return inView(database, anyClient, (view) => {
    const { mode, ports } = view.call(workloadPeerModes, { namespace, labels });
    const applied = [...new Set([view.call(meshNames).root, namespace])].flatMap((each) =>
      database
        .all(peerAuthentications)
        .filter(
          ({ spec, ...policy }) =>
            policy.namespace === each && selectorMatches(spec.selector?.matchLabels ?? {}, labels),
        ),
    );
    const ofPorts = Object.entries(ports).map(([port, own]) => `      ${port}: ${own}`);
    return [
      "Effective PeerAuthentication:",
      `   Workload mTLS mode: ${mode}`,
      ...(ofPorts.length > 0 ? ["   Port Level mTLS mode:", ...ofPorts] : []),
      ...(applied.length > 0
        ? ["Applied PeerAuthentication:", `   ${applied.map((each) => `${each.name}.${each.namespace}`).join(", ")}`]
        : []),
      "",
    ].join("\n");
  });
}

interface Route {
  readonly resolved: ResolvedVirtualService;
  readonly gateways: readonly string[];
}

/** Returns the VirtualServices for a host, and those with routes to it, oldest first. */
function routesTo(database: Database<Proxy>, view: View<Proxy>, host: string): Route[] {
  return database
    .all(virtualServices)
    .map(({ namespace, name }) => `${namespace}/${name}`)
    .flatMap((key) => {
      const resolved = view.call(virtualService, key);
      const header = view.call(virtualServiceHeader, key);
      if (resolved === undefined || header === undefined) return [];
      const { hosts, http, tcp, tls } = resolved.spec;
      const destinations = [...http, ...tcp, ...tls].flatMap(({ route }) =>
        route.map(({ destination }) => destination?.host),
      );
      return hosts.includes(host) || destinations.includes(host) ? [{ resolved, gateways: header.gateways }] : [];
    })
    .sort(
      (a, b) =>
        a.resolved.creationTimestamp - b.resolved.creationTimestamp || (a.resolved.key < b.resolved.key ? -1 : 1),
    );
}

/** Names the AuthorizationPolicies that decide on requests that the client receives. */
function describePolicies(view: View<Proxy>): string {
  const { custom, audit, deny, allow } = view.call(applicableAuthorizationPolicies);
  const names = Object.entries({ CUSTOM: custom, AUDIT: audit, DENY: deny, ALLOW: allow }).flatMap(
    ([action, policies]) =>
      policies.map(({ namespace, name, dryRun }) => `${namespace}/${name} (${action}${dryRun ? ", dry run" : ""})`),
  );
  return names.length === 0 ? "" : `RBAC policies: ${names.join(", ")}\n`;
}

function inView<T>(database: Database<Proxy>, client: Proxy, use: (view: View<Proxy>) => T): T {
  const view = database.view(client);
  try {
    return use(view);
  } finally {
    view.release();
  }
}

import { type SidecarObject, sidecars, sidecarsByNamespace } from "@istiod/config-schema";
import { fact, type FactContext, query, type QueryContext } from "@istiod/incremental";
import { MeshConfig_OutboundTrafficPolicy_Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  CaptureMode,
  type IstioIngressListener,
  OutboundTrafficPolicy_Mode,
  type Sidecar,
} from "@istiod/istio-api/networking/v1alpha3/sidecar";
import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { parseProtocol, serviceOrder } from "@istiod/service-discovery";
import { mesh, rootNamespace } from "../mesh/mesh-config.js";
import { proxyType } from "../proxy/facts.js";
import { labelsOf, selectorMatches } from "../proxy/labels.js";
import type { Proxy } from "../proxy/proxy.js";
import { meshGateway } from "../routing/short-names.js";
import {
  distinguishingNamespacesOf,
  sourceNamespaces,
  virtualServiceHeader,
  virtualServicesBoundTo,
} from "../routing/virtual-service-index.js";
import { everything } from "./egress-hosts.js";
import { serviceHeader } from "./service-header.js";

/**
 * What part of the mesh a client takes: clients with equal scopes import the same. It is small, and is the argument of
 * scoped queries.
 */
export interface ScopeRef {
  /** A gateway or waypoint, to which no Sidecar applies: all that its namespace may see. */
  readonly gateway?: true;
  /** The Sidecar that applies, `namespace/name`; absent: everything is imported. */
  readonly sidecar?: string;
  /** The client's namespace; absent where nothing differs for it from what a namespace without objects would have. */
  readonly namespace?: string;
}

/** Equal for equal scopes, and shorter than their canonical form: scoped queries are called often. */
export function scopeKey({ gateway, sidecar = "", namespace = "" }: ScopeRef): string {
  return `${gateway === true ? "gateway" : sidecar} ${namespace}`;
}

/** One egress listener of a scope. */
export interface ScopeListener {
  readonly scope: ScopeRef;
  /** Position among the scope's egress listeners. */
  readonly listener: number;
}

/** Equal for equal listeners. */
export function listenerKey({ scope, listener }: ScopeListener): string {
  return `${listener} ${scopeKey(scope)}`;
}

/** An egress listener: which outbound traffic it takes, and what it imports for it. */
export interface EgressListener {
  /** Absent: it takes all ports that no other egress listener takes, and is the last one. */
  readonly port?: { readonly number: number; readonly protocol: string; readonly name: string };
  readonly bind: string;
  readonly captureMode: CaptureMode;
  readonly hosts: readonly string[];
  /** Whether only services with this port are imported, with that port alone. A generic HTTP proxy imports all. */
  readonly matchesPort: boolean;
}

/** What becomes of traffic to hosts that the scope does not know. */
export interface OutboundTraffic {
  readonly mode: "REGISTRY_ONLY" | "ALLOW_ANY" | "ALLOW_ANY_DYNAMIC_DNS";
  /** ALLOW_ANY: where such traffic goes instead of where it was meant to. */
  readonly egressProxy?: Destination;
}

/** The client's scope. */
export function scopeOf(q: QueryContext): ScopeRef {
  return q.call(clientScope);
}

const clientScope = query("scope", (q): ScopeRef => {
  const type = q.ask(proxyType);
  if (type !== "sidecar") {
    return { gateway: true, ...withNamespace(q.ask(distinguishingNamespace, undefined)) };
  }
  const own = q.ask(ownSidecar, undefined);
  if (own !== undefined) {
    return own;
  }
  const root = q.call(rootSidecar);
  return {
    ...(root === undefined ? {} : { sidecar: root.key }),
    ...withNamespace(q.ask(root?.ofClient === true ? clientNamespace : distinguishingNamespace, undefined)),
  };
});

/** The egress listeners of a scope, in order; never none. */
export const egressListeners = query(
  "egressListeners",
  (q, scope: ScopeRef): readonly EgressListener[] => {
    const egress = q.call(sidecarSpec, scope)?.egress ?? [];
    if (egress.length === 0) {
      return [{ bind: "", captureMode: CaptureMode.DEFAULT, hosts: everything, matchesPort: false }];
    }
    return egress.map(({ port, bind, captureMode, hosts }) => ({
      ...(port === undefined ? {} : { port: { number: port.number, protocol: port.protocol, name: port.name } }),
      bind,
      captureMode,
      hosts,
      matchesPort: port !== undefined && port.number !== 0 && parseProtocol(port.protocol) !== "HTTP_PROXY",
    }));
  },
  { key: sidecarKey },
);

/** The ingress listeners that a scope's Sidecar declares. */
export const ingressListeners = query(
  "ingressListeners",
  (q, scope: ScopeRef): readonly IstioIngressListener[] => q.call(sidecarSpec, scope)?.ingress ?? [],
  { key: sidecarKey },
);

/** What becomes of traffic from a scope to unknown hosts: as its Sidecar says, else as the mesh does. */
export const outboundTraffic = query(
  "outboundTraffic",
  (q, scope: ScopeRef): OutboundTraffic => {
    const declared = q.call(sidecarSpec, scope)?.outboundTrafficPolicy;
    if (declared !== undefined) {
      return {
        mode: sidecarModes[declared.mode],
        ...(declared.egressProxy === undefined ? {} : { egressProxy: declared.egressProxy }),
      };
    }
    const ofMesh = mesh(q).outboundTrafficPolicy;
    return { mode: ofMesh === undefined ? "REGISTRY_ONLY" : meshModes[ofMesh.mode] };
  },
  { key: sidecarKey },
);

/** The Sidecar of a scope. */
export const sidecarSpec = query(
  "sidecarSpec",
  (q, { sidecar }: ScopeRef): Sidecar | undefined =>
    sidecar === undefined ? undefined : q.read(sidecars, sidecar)?.spec,
  { key: sidecarKey },
);

/** What a scope's Sidecar alone decides is the same for all scopes with it. */
function sidecarKey({ sidecar = "" }: ScopeRef): string {
  return sidecar;
}

const sidecarModes: Readonly<Record<OutboundTrafficPolicy_Mode, OutboundTraffic["mode"]>> = {
  [OutboundTrafficPolicy_Mode.REGISTRY_ONLY]: "REGISTRY_ONLY",
  [OutboundTrafficPolicy_Mode.ALLOW_ANY]: "ALLOW_ANY",
};

const meshModes: Readonly<Record<MeshConfig_OutboundTrafficPolicy_Mode, OutboundTraffic["mode"]>> = {
  [MeshConfig_OutboundTrafficPolicy_Mode.REGISTRY_ONLY]: "REGISTRY_ONLY",
  [MeshConfig_OutboundTrafficPolicy_Mode.ALLOW_ANY]: "ALLOW_ANY",
  [MeshConfig_OutboundTrafficPolicy_Mode.ALLOW_ANY_DYNAMIC_DNS]: "ALLOW_ANY_DYNAMIC_DNS",
};

/**
 * The Sidecar of the client's own namespace that selects it: one with a selector before one without, then the oldest
 * (pilot/pkg/model/push_context.go, initSidecarScopes).
 */
const ownSidecar = fact("sidecar", (proxy: Proxy, _: void, q: FactContext): ScopeRef | undefined => {
  const candidates = [...q.read(sidecarsByNamespace, proxy.namespace)].sort(bySelectorThenAge);
  const found = candidates.find(({ spec: { workloadSelector } }) => {
    const selector = workloadSelector?.labels ?? {};
    return Object.keys(selector).length === 0 || selectorMatches(selector, labelsOf(proxy, q));
  });
  return found && { sidecar: `${found.namespace}/${found.name}`, namespace: proxy.namespace };
});

/**
 * The Sidecar of the root namespace that applies where a namespace has none, and whether it imports relative to the
 * client's namespace.
 */
const rootSidecar = query("rootSidecar", (q) => {
  const [found] = q
    .read(sidecarsByNamespace, rootNamespace(q))
    .filter(({ spec }) => spec.workloadSelector === undefined)
    .sort(bySelectorThenAge);
  return (
    found && {
      key: `${found.namespace}/${found.name}`,
      ofClient: found.spec.egress.some(({ hosts }) =>
        hosts.some((host) => host.startsWith("./") || host.startsWith("~./")),
      ),
    }
  );
});

const clientNamespace = fact("namespace", (proxy: Proxy): string | undefined => proxy.namespace);

/**
 * The client's namespace, if anything in the mesh is seen from there otherwise than from a namespace without objects.
 */
const distinguishingNamespace = fact(
  "distinguishingNamespace",
  (proxy: Proxy, _: void, q: FactContext): string | undefined =>
    q.call(distinguishingNamespaces)[proxy.namespace] === true ? proxy.namespace : undefined,
);

/**
 * Namespaces from which something is seen otherwise than from others: those that an object is exported to by name,
 * those whose own object is preferred (one of several services of a host) or hidden from others, and those that a route
 * names as source. Services and routes are asked apart, so that a change of the ones does not go through the others.
 */
const distinguishingNamespaces = query("distinguishingNamespaces", (q): Readonly<Record<string, true>> => ({
  ...q.call(namespacesOfServices),
  ...q.call(namespacesOfRoutes),
}));

const namespacesOfServices = query("namespacesOfServices", (q): Readonly<Record<string, true>> => {
  const out: Record<string, true> = {};
  const owners = new Map<string, string>();
  for (const id of q.call(serviceOrder)) {
    const header = q.call(serviceHeader, id);
    if (header === undefined) {
      continue;
    }
    const { hostname, namespace, exportedTo } = header;
    const other = owners.get(hostname);
    if (other !== undefined && other !== namespace) {
      out[other] = out[namespace] = true;
    }
    owners.set(hostname, namespace);
    if (!exportedTo.everyone) {
      out[namespace] = true;
      exportedTo.namespaces.forEach((target) => (out[target] = true));
    }
  }
  return out;
});

const namespacesOfRoutes = query("namespacesOfRoutes", (q): Readonly<Record<string, true>> => {
  const out: Record<string, true> = {};
  for (const key of q.call(virtualServicesBoundTo, meshGateway)) {
    const header = q.call(virtualServiceHeader, key);
    for (const namespace of [
      ...(header === undefined ? [] : distinguishingNamespacesOf(header)),
      ...q.call(sourceNamespaces, key),
    ]) {
      out[namespace] = true;
    }
  }
  return out;
});

function bySelectorThenAge(a: SidecarObject, b: SidecarObject): number {
  return (
    Number(a.spec.workloadSelector === undefined) - Number(b.spec.workloadSelector === undefined) ||
    a.creationTimestamp - b.creationTimestamp ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}

function withNamespace(namespace: string | undefined): Pick<ScopeRef, "namespace"> {
  return namespace === undefined ? {} : { namespace };
}

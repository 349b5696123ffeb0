import { virtualServices } from "@istiod/config-schema";
import { fact, type FactContext, query } from "@istiod/incremental";
import { ingressVirtualServiceKeys } from "../ingress/ingress-virtual-services.js";
import type { Proxy } from "../proxy/proxy.js";
import { type ExportScope, isExportedTo } from "../visibility/export-to.js";
import { destinationsOf } from "./resolve-names.js";
import { meshGateway } from "./short-names.js";
import { type RouteSemantics, virtualService } from "./virtual-service.js";

/** What decides whether a VirtualService applies, apart from its routes: an edit of a route does not change it. */
export interface VirtualServiceHeader {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly creationTimestamp: number;
  readonly semantics: RouteSemantics;
  /** Full names, as written otherwise. */
  readonly hosts: readonly string[];
  /** `mesh` or `namespace/name`; never empty. */
  readonly gateways: readonly string[];
  readonly exportedTo: ExportScope;
}

/** A service that a VirtualService sends traffic to. */
export interface RoutedHost {
  readonly host: string;
  /** Ports that are named; 0 stands for a destination that names none. */
  readonly ports: readonly number[];
}

/** The header of the VirtualService `namespace/name`; undefined where there is none or it is a delegate. */
export const virtualServiceHeader = query(
  "virtualServiceHeader",
  (q, key: string): VirtualServiceHeader | undefined => {
    const found = q.call(virtualService, key);
    if (found === undefined) {
      return undefined;
    }
    const { namespace, name, creationTimestamp, semantics, exportedTo, spec } = found;
    const gateways = spec.gateways.length === 0 ? [meshGateway] : spec.gateways;
    return { key, namespace, name, creationTimestamp, semantics, hosts: spec.hosts, gateways, exportedTo };
  },
);

/**
 * All VirtualServices but delegates, the oldest first, then by name and namespace: in a conflict the first one wins.
 * Those that stand for Ingresses have no age and come before all others.
 */
export const virtualServiceOrder = query("virtualServiceOrder", (q): readonly string[] =>
  [...new Set([...q.keys(virtualServices), ...q.call(ingressVirtualServiceKeys)])]
    .flatMap((key) => q.call(virtualServiceHeader, key) ?? [])
    .sort(byAge)
    .map((header) => header.key),
);

/**
 * Gateway (`mesh` or `namespace/name`) to the VirtualServices bound to it, in the order of {@link virtualServiceOrder}.
 * One that names a Gateway more than once is there as often, as in the original, which repeats its routes; for the mesh
 * that makes no difference.
 */
const byGateway = query("virtualServicesByGateway", (q): Readonly<Record<string, readonly string[]>> => {
  const out: Record<string, string[]> = {};
  for (const key of q.call(virtualServiceOrder)) {
    for (const gateway of q.call(virtualServiceHeader, key)?.gateways ?? []) {
      const bound = (out[gateway] ??= []);
      if (gateway !== meshGateway || bound.at(-1) !== key) bound.push(key);
    }
  }
  return out;
});

/** The VirtualServices bound to a gateway, whoever may use them; one is there as often as it names the gateway. */
export const virtualServicesBoundTo = query(
  "virtualServicesBoundTo",
  (q, gateway: string): readonly string[] => q.call(byGateway)[gateway] ?? [],
);

/**
 * The VirtualServices bound to a gateway that clients of a namespace may use, in order of precedence: those exported to
 * the namespace alone (its own, then others'), then public ones. Without a namespace: the public ones. With owners:
 * only those of these namespaces, and others are not read.
 */
export const visibleVirtualServices = query(
  "visibleVirtualServices",
  (q, { gateway, namespace, owners }: Bound): readonly string[] => {
    const bound =
      owners === undefined
        ? q.call(virtualServicesBoundTo, gateway)
        : owners.flatMap((owner) => q.call(boundInNamespace, { gateway, owner }));
    const rank = (header: VirtualServiceHeader): number => {
      const own = header.namespace === namespace;
      return header.exportedTo.everyone ? (own && header.semantics === "gateway-api" ? 2 : 3) : own ? 0 : 1;
    };
    return bound
      .flatMap((key) => q.call(virtualServiceHeader, key) ?? [])
      .filter((header) => isExportedTo(header.exportedTo, namespace))
      .sort((a, b) => rank(a) - rank(b) || byAge(a, b))
      .map((header) => header.key);
  },
);

interface Bound {
  readonly gateway: string;
  readonly namespace?: string | undefined;
  readonly owners?: readonly string[] | undefined;
}

const boundByNamespace = query(
  "virtualServicesByGatewayAndNamespace",
  (q, gateway: string): Readonly<Record<string, readonly string[]>> => {
    const out: Record<string, string[]> = {};
    for (const key of q.call(virtualServicesBoundTo, gateway)) {
      (out[key.slice(0, key.indexOf("/"))] ??= []).push(key);
    }
    return out;
  },
);

const boundInNamespace = query(
  "virtualServicesInNamespace",
  (q, { gateway, owner }: { readonly gateway: string; readonly owner: string }): readonly string[] =>
    q.call(boundByNamespace, gateway)[owner] ?? [],
);

/** The client's namespace, if what is bound to the gateway differs for it from what everyone has. */
const namespaceAtGateway = fact(
  "namespaceAtGateway",
  (proxy: Proxy, gateway: string, q: FactContext): string | undefined =>
    q.call(namespacesAtGateway, gateway).includes(proxy.namespace) ? proxy.namespace : undefined,
);

const namespacesAtGateway = query("namespacesAtGateway", (q, gateway: string): readonly string[] => {
  const headers = q.call(virtualServicesBoundTo, gateway).flatMap((key) => q.call(virtualServiceHeader, key) ?? []);
  return [...new Set(headers.flatMap(distinguishingNamespacesOf))].sort();
});

/** Namespaces whose clients see a VirtualService otherwise than all others do. */
export function distinguishingNamespacesOf({
  exportedTo,
  semantics,
  namespace,
}: VirtualServiceHeader): readonly string[] {
  return semantics === "gateway-api" ? [...exportedTo.namespaces, namespace] : exportedTo.namespaces;
}

/**
 * The VirtualServices that a gateway proxy applies to the Gateway `namespace/name`, in order of precedence; one is
 * there as often as it names the Gateway.
 */
export const virtualServicesForGateway = query("virtualServicesForGateway", (q, gateway: string): readonly string[] =>
  q.call(visibleVirtualServices, { gateway, namespace: q.ask(namespaceAtGateway, gateway) }),
);

/**
 * The services that a VirtualService sends traffic to, in the order in which they are first named. With a namespace,
 * HTTP routes that only other namespaces' clients match are left out.
 */
export const routedHosts = query(
  "routedHosts",
  (
    q,
    { virtualService: key, namespace }: { readonly virtualService: string; readonly namespace?: string | undefined },
  ): readonly RoutedHost[] => {
    const spec = q.call(virtualService, key)?.spec;
    if (spec === undefined) {
      return [];
    }
    const http = spec.http.filter((route) => {
      const sources = route.match.map((match) => match.sourceNamespace).filter((source) => source !== "");
      return namespace === undefined || sources.length === 0 || sources.includes(namespace);
    });
    const ports = new Map<string, Set<number>>();
    for (const { host, port } of destinationsOf({ http, tcp: spec.tcp, tls: spec.tls })) {
      ports.set(host, (ports.get(host) ?? new Set()).add(port?.number ?? 0));
    }
    return [...ports].map(([host, numbers]) => ({ host, ports: [...numbers].sort((a, b) => a - b) }));
  },
);

/** Namespaces that HTTP routes of a VirtualService single out as sources. */
export const sourceNamespaces = query("sourceNamespaces", (q, key: string): readonly string[] => {
  const matches = q.call(virtualService, key)?.spec.http.flatMap((route) => route.match) ?? [];
  return [...new Set(matches.map((match) => match.sourceNamespace).filter((source) => source !== ""))].sort();
});

/** The oldest first, then by name and namespace. */
function byAge(a: VirtualServiceHeader, b: VirtualServiceHeader): number {
  return a.creationTimestamp - b.creationTimestamp || compare(a.name, b.name) || compare(a.namespace, b.namespace);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

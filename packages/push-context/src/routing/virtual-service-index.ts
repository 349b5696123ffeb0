import { virtualServices } from "@istiod/config-schema";
import { gatewayApiVirtualServiceKeys } from "@istiod/gateway-api";
import { fact, type FactContext, query, type QueryContext } from "@istiod/incremental";
import type { HTTPRoute, VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { ingressVirtualServiceKeys } from "../ingress/ingress-virtual-services.js";
import type { Proxy } from "../proxy/proxy.js";
import { features } from "../mesh/features.js";
import { type ExportScope, isExportedTo } from "../visibility/export-to.js";
import { failureMessage } from "../visibility/failure-message.js";
import { routeDestinations } from "./resolve-names.js";
import { meshGateway } from "./short-names.js";
import { type RouteSemantics, virtualService } from "./virtual-service.js";

/** Fields of a VirtualService that determine where it applies. A change of a route does not change them. */
export interface VirtualServiceHeader {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly creationTimestamp: number;
  readonly semantics: RouteSemantics;
  /** Fully qualified. */
  readonly hosts: readonly string[];
  /** `mesh` or `namespace/name`; never empty. */
  readonly gateways: readonly string[];
  readonly exportedTo: ExportScope;
}

/** A host that a VirtualService routes to. */
export interface RoutedHost {
  readonly host: string;
  /** Destination ports; 0 stands for a destination without a port. */
  readonly ports: readonly number[];
}

/** The header of the VirtualService `namespace/name`; undefined if it does not exist or is a delegate. */
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
 * Keys of all VirtualServices except delegates, sorted by age, name and namespace: the first one takes precedence in a
 * conflict. VirtualServices generated from Ingresses have creation time 0 and sort first.
 */
export const virtualServiceOrder = query(
  "virtualServiceOrder",
  (q): readonly string[] => q.call(virtualServiceHeaders).order,
);

/** A VirtualService that cannot be read, because of a fault in istiod or content that validation missed. */
export interface FailedVirtualService {
  readonly key: string;
  /** Fully qualified, as far as they can be read. */
  readonly hosts: readonly string[];
  readonly message: string;
}

/** The VirtualServices that cannot be read. They apply to no client, and what they route is reported as failed. */
export const failedVirtualServices = query(
  "failedVirtualServices",
  (q): readonly FailedVirtualService[] => q.call(virtualServiceHeaders).failed,
);

interface VirtualServiceHeaders {
  /** Sorted as {@link virtualServiceOrder}. */
  readonly order: readonly string[];
  readonly failed: readonly FailedVirtualService[];
}

const virtualServiceHeaders = query("virtualServiceHeaders", (q): VirtualServiceHeaders => {
  const headers: VirtualServiceHeader[] = [];
  const failed: FailedVirtualService[] = [];
  for (const key of new Set([
    ...q.keys(virtualServices),
    ...q.call(ingressVirtualServiceKeys),
    ...q.call(gatewayApiVirtualServiceKeys),
  ])) {
    try {
      const header = q.call(virtualServiceHeader, key);
      if (header !== undefined) headers.push(header);
    } catch (error) {
      failed.push({ key, hosts: readableHosts(q, key), message: failureMessage(error) });
    }
  }
  return { order: headers.sort(byAge).map((header) => header.key), failed };
});

/** Returns the hosts that can be read in a VirtualService that cannot be read as a whole, with their domains. */
function readableHosts(q: QueryContext, key: string): readonly string[] {
  const { namespace, spec } = q.read(virtualServices, key) ?? {};
  const hosts: unknown = spec?.hosts;
  if (!Array.isArray(hosts) || namespace === undefined) return [];
  const named = hosts.filter((host) => typeof host === "string");
  return named.map((host) =>
    host.includes(".") || host === "*" ? host : `${host}.${namespace}.svc.${features.domainSuffix(q)}`,
  );
}

/**
 * Maps a gateway (`mesh` or `namespace/name`) to the VirtualServices bound to it, in the order of {@link
 * virtualServiceOrder}. A VirtualService that names a Gateway several times is listed as often, because Istio repeats
 * its routes; for `mesh` it is listed once.
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

/** Keys of the VirtualServices bound to a gateway, regardless of exportTo, repeated as often as they name it. */
export const virtualServicesBoundTo = query(
  "virtualServicesBoundTo",
  (q, gateway: string): readonly string[] => q.call(byGateway)[gateway] ?? [],
);

/**
 * Keys of the VirtualServices bound to a gateway and visible to a namespace, in order of precedence: those that are
 * exported to named namespaces (the client's own first), then public ones. Without a namespace, only public ones. With
 * `owners`, only the VirtualServices of these namespaces are read.
 */
export const visibleVirtualServices = query(
  "visibleVirtualServices",
  (q, { gateway, namespace, owners }: VisibleAt): readonly string[] => {
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

interface VisibleAt {
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

/**
 * The client's namespace if the VirtualServices visible to it at the gateway differ from those visible to other
 * namespaces.
 */
const namespaceAtGateway = fact(
  "namespaceAtGateway",
  (proxy: Proxy, gateway: string, q: FactContext): string | undefined =>
    q.call(namespacesAtGateway, gateway).includes(proxy.namespace) ? proxy.namespace : undefined,
);

const namespacesAtGateway = query("namespacesAtGateway", (q, gateway: string): readonly string[] => {
  const headers = q.call(virtualServicesBoundTo, gateway).flatMap((key) => q.call(virtualServiceHeader, key) ?? []);
  return [...new Set(headers.flatMap(distinguishingNamespacesOf))].sort();
});

/** Returns the namespaces to which the visibility or precedence of a VirtualService is special. */
export function distinguishingNamespacesOf({
  exportedTo,
  semantics,
  namespace,
}: VirtualServiceHeader): readonly string[] {
  return semantics === "gateway-api" ? [...exportedTo.namespaces, namespace] : exportedTo.namespaces;
}

/**
 * Keys of the VirtualServices that a gateway proxy applies to the Gateway `namespace/name`, in order of precedence,
 * repeated as often as they name the Gateway.
 */
export const virtualServicesForGateway = query("virtualServicesForGateway", (q, gateway: string): readonly string[] =>
  q.call(visibleVirtualServices, { gateway, namespace: q.ask(namespaceAtGateway, gateway) }),
);

/**
 * Hosts that a VirtualService routes to, in the order of their first occurrence. With the namespace of clients, HTTP
 * routes whose matches are all restricted to other source namespaces are skipped; it is empty for clients in a
 * namespace that no route names.
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
    return orNone(() => destinationsOf(spec, namespace));
  },
);

function destinationsOf({ http: all, tcp, tls }: VirtualService, namespace: string | undefined): readonly RoutedHost[] {
  const http = namespace === undefined ? all : all.filter((route) => mayComeFrom(namespace, route));
  const ports = new Map<string, Set<number>>();
  for (const { host, port } of routeDestinations({ http, tcp, tls })) {
    let numbers = ports.get(host);
    if (numbers === undefined) ports.set(host, (numbers = new Set()));
    numbers.add(port?.number ?? 0);
  }
  return [...ports].map(([host, numbers]) => ({ host, ports: [...numbers].sort((a, b) => a - b) }));
}

/** Reports whether a match of a route applies to clients of a namespace. */
function mayComeFrom(namespace: string, { match }: HTTPRoute): boolean {
  return (
    match.length === 0 || match.some(({ sourceNamespace }) => sourceNamespace === "" || sourceNamespace === namespace)
  );
}

/**
 * Returns a list, empty if it cannot be read. All clients read these lists of all VirtualServices; one whose routes
 * cannot be read fails where its routes are built.
 */
function orNone<T>(list: () => readonly T[]): readonly T[] {
  try {
    return list();
  } catch (error) {
    failureMessage(error);
    return [];
  }
}

/** Source namespaces that the HTTP routes of a VirtualService match on, sorted. */
export const sourceNamespaces = query("sourceNamespaces", (q, key: string): readonly string[] => {
  const http = q.call(virtualService, key)?.spec.http ?? [];
  const sources = orNone(() => http.flatMap(({ match }) => match.map(({ sourceNamespace }) => sourceNamespace)));
  return [...new Set(sources.filter((source) => source !== ""))].sort();
});

/** Orders by age, name and namespace. */
function byAge(a: VirtualServiceHeader, b: VirtualServiceHeader): number {
  return a.creationTimestamp - b.creationTimestamp || compare(a.name, b.name) || compare(a.namespace, b.namespace);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { RouteSchema, type VirtualHost } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { networking } from "./kinds/manifest.js";
import { clusterType, listenerType, type Resource, routeType } from "@istiod/resources";

const old = "2020-01-01T00:00:00Z";
const metadata = (namespace: string, name: string, labels = {}): object => ({
  name,
  namespace,
  labels,
  creationTimestamp: old,
});

/** A service with one workload. */
function service(namespace: string, address: string, ip: string): readonly object[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata(namespace, "cart"),
      spec: {
        clusterIP: address,
        selector: { app: "cart" },
        ports: [
          { name: "http", port: 80, targetPort: 8080 },
          { name: "tls", port: 443 },
        ],
      },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadata(namespace, "cart-1", { app: "cart", version: "v1", "security.istio.io/tlsMode": "istio" }),
      spec: { serviceAccountName: "cart", containers: [{ name: "app" }] },
      status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: metadata(namespace, "cart-1", { "kubernetes.io/service-name": "cart" }),
      addressType: "IPv4",
      endpoints: [{ addresses: [ip], targetRef: { kind: "Pod", namespace, name: "cart-1" } }],
      ports: [
        { name: "http", port: 8080 },
        { name: "tls", port: 443 },
      ],
    },
  ];
}

const istio = (kind: string, namespace: string, name: string, spec: object): object => ({
  apiVersion: networking,
  kind,
  metadata: metadata(namespace, name),
  spec,
});
const http = (hosts: readonly string[], tls?: object): object => ({
  port: { number: 80, name: "http", protocol: "HTTP" },
  hosts,
  ...(tls && { tls }),
});
const https = (name: string, protocol: string, hosts: readonly string[], tls: object): object => ({
  port: { number: 443, name, protocol },
  hosts,
  tls,
});

/**
 * Two tenants of one gateway, older than all others: one with servers in the gateway's namespace that allow only its own
 * routes, and one with a Gateway of its own and an Ingress.
 */
export const goodTenants: readonly object[] = [
  ...["istio-system", "evil-1", "evil-2"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  ...service("good", "10.97.0.1", "10.1.0.1"),
  ...service("calm", "10.97.0.2", "10.1.0.2"),
  istio("Gateway", "istio-system", "edge", {
    selector: { istio: "ingress" },
    servers: [
      http(["good/good.example.com"]),
      https("https", "HTTPS", ["good/good.example.com"], { mode: "SIMPLE", credentialName: "good" }),
      https("tls", "TLS", ["good/pass.example.com"], { mode: "PASSTHROUGH" }),
    ],
  }),
  istio("Gateway", "calm", "edge", {
    selector: { istio: "ingress" },
    servers: [
      http(["./calm.example.com"], { httpsRedirect: true }),
      https("https", "HTTPS", ["./calm.example.com"], { mode: "MUTUAL", credentialName: "calm" }),
    ],
  }),
  istio("VirtualService", "good", "web", {
    hosts: ["good.example.com"],
    gateways: ["istio-system/edge"],
    http: [
      { match: [{ uri: { prefix: "/v1" } }], route: [{ destination: { host: "cart", subset: "v1" } }] },
      { route: [{ destination: { host: "cart", port: { number: 80 } } }], timeout: "3s" },
    ],
  }),
  istio("VirtualService", "good", "pass", {
    hosts: ["pass.example.com"],
    gateways: ["istio-system/edge"],
    tls: [
      {
        match: [{ port: 443, sniHosts: ["pass.example.com"] }],
        route: [{ destination: { host: "cart", port: { number: 443 } } }],
      },
    ],
  }),
  istio("DestinationRule", "good", "cart", {
    host: "cart",
    subsets: [{ name: "v1", labels: { version: "v1" } }],
  }),
  istio("VirtualService", "calm", "web", {
    hosts: ["calm.example.com"],
    gateways: ["edge"],
    http: [{ route: [{ destination: { host: "cart", port: { number: 80 } } }] }],
  }),
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: metadata("calm", "web"),
    spec: {
      ingressClassName: "istio",
      rules: [
        {
          host: "entry.example.com",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } }],
          },
        },
      ],
    },
  },
];

const hosts = ["good.example.com", "calm.example.com", "entry.example.com", "route.example.com", "set.example.com"];
const sniHosts = ["good.example.com", "calm.example.com", "pass.example.com", "route.example.com", "set.example.com"];

/** What the gateway does with the traffic of the good tenants. */
export interface TenantConfig {
  /** The filter chain of each port and SNI, encoded. */
  readonly chains: ReadonlyMap<string, string>;
  /** The virtual host of each route configuration and host. */
  readonly virtualHosts: ReadonlyMap<string, TenantVirtualHost>;
  /** Clusters by name, encoded. */
  readonly clusters: ReadonlyMap<string, string>;
}

export interface TenantVirtualHost {
  readonly requireTls: number;
  readonly domains: readonly string[];
  /** Encoded, in order. */
  readonly routes: readonly string[];
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** Returns the parts of a gateway's resources that serve the good tenants. */
export function tenantConfig(resources: ReadonlyMap<string, readonly Resource[]>): TenantConfig {
  const chains = new Map<string, string>();
  for (const { name, bytes } of resources.get(listenerType) ?? [])
    for (const chain of fromBinary(ListenerSchema, bytes).filterChains) {
      const named = chain.filterChainMatch?.serverNames ?? [];
      for (const sni of named.length === 0 ? [""] : named.filter((host) => sniHosts.includes(host)))
        if (["0.0.0.0_80", "0.0.0.0_443"].includes(name))
          chains.set(`${name} ${sni}`, text(toBinary(FilterChainSchema, chain)));
    }
  const virtualHosts = new Map<string, TenantVirtualHost>();
  for (const { name, bytes } of resources.get(routeType) ?? [])
    for (const virtualHost of fromBinary(RouteConfigurationSchema, bytes).virtualHosts.filter(isServed))
      for (const host of virtualHost.domains.filter((domain) => hosts.includes(domain)))
        virtualHosts.set(`${name} ${host}`, tenantVirtualHost(virtualHost));
  const own = (resources.get(clusterType) ?? []).filter(({ name }) => /\.(good|calm)\.svc\./.test(name));
  return { chains, virtualHosts, clusters: new Map(own.map(({ name, bytes }) => [name, text(bytes)])) };
}

/** Reports whether a virtual host is no refusal of the hosts of other listeners. */
function isServed({ routes }: VirtualHost): boolean {
  const isRefused = ({ action }: VirtualHost["routes"][number]): boolean =>
    action.case === "directResponse" && action.value.status === misdirected;
  return routes.length === 0 || !routes.every(isRefused);
}

const misdirected = 421;

function tenantVirtualHost({ requireTls, domains, routes }: VirtualHost): TenantVirtualHost {
  return { requireTls, domains, routes: routes.map((route) => text(toBinary(RouteSchema, route))) };
}

/**
 * Returns how a gateway with further tenants differs from one with the good tenants alone. Other tenants may add routes
 * behind a tenant's own at a port of plain HTTP, and require TLS of a host there, as in Istio (docs/security.md).
 */
export function harmDone(alone: TenantConfig, shared: TenantConfig): readonly string[] {
  const harm: string[] = [];
  for (const part of ["chains", "clusters"] as const)
    for (const [name, bytes] of alone[part])
      if (shared[part].get(name) !== bytes)
        harm.push(`${part} ${name}: ${shared[part].has(name) ? "changed" : "missing"}`);
  for (const [name, before] of alone.virtualHosts) {
    const now = shared.virtualHosts.get(name);
    if (now === undefined) harm.push(`virtual host ${name}: missing`);
    else {
      const isPlain = name.startsWith("http.80 ");
      // A listener of the Gateway API that allows routes of all namespaces has them behind those of its own host.
      const isShared = isPlain || name.includes(".front~");
      const own = isShared ? now.routes.slice(0, before.routes.length) : now.routes;
      if (own.join() !== before.routes.join()) harm.push(`virtual host ${name}: other routes`);
      if (!isPlain && now.requireTls !== before.requireTls) harm.push(`virtual host ${name}: other requirement of TLS`);
      if (isPlain && now.requireTls < before.requireTls) harm.push(`virtual host ${name}: does not redirect any more`);
      if (now.domains.join() !== before.domains.join()) harm.push(`virtual host ${name}: other domains`);
    }
  }
  return harm;
}

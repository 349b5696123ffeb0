import { certificateFor } from "@istiod/e2e";
import fc from "fast-check";
import { goodTenants } from "./good-tenants.js";
import { hostileTenants, young } from "./hostile-tenants.js";
import { gatewayApiObject } from "./kinds/gateway-api/gateways.js";
import { gatewayApiRoute } from "./kinds/gateway-api/routes.js";
import type { Manifest } from "./kinds/manifest.js";
import { isAccepted } from "./mesh.js";

/** A gateway with listeners of the Gateway API that several namespaces share, beside the servers of Gateways of Istio. */

const group = "gateway.networking.k8s.io/v1";
const { root, server } = await certificateFor("example.com");
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const metadata = (namespace: string, name: string): object => ({
  name,
  namespace,
  creationTimestamp: "2020-01-01T00:00:00Z",
});
const allowedRoutes = { namespaces: { from: "All" } };
const http = (name: string, hostname?: string): object => ({
  name,
  port: 80,
  protocol: "HTTP",
  ...(hostname && { hostname }),
});
const https = (name: string, hostname: string, secret: string): object => ({
  name,
  port: 443,
  protocol: "HTTPS",
  hostname,
  tls: { certificateRefs: [{ name: secret }] },
});
const route = (namespace: string, name: string, hostname: string, parentRef: object): object => ({
  apiVersion: group,
  kind: "HTTPRoute",
  metadata: metadata(namespace, name),
  spec: { parentRefs: [parentRef], hostnames: [hostname], rules: [{ backendRefs: [{ name: "cart", port: 80 }] }] },
});

/**
 * The two older tenants, also with the Gateway API: one has a route of a Gateway in the gateway's namespace, the other
 * one listeners of its own there, in a ListenerSet.
 */
export const goodSharers: readonly object[] = [
  ...goodTenants,
  ...["istio-system", "calm", "evil-1", "evil-2"].flatMap((namespace) =>
    ["front", "set", "cart", "a"].map((name) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: metadata(namespace, name),
      type: "kubernetes.io/tls",
      data: { "tls.crt": base64(server.cert), "tls.key": base64(server.key), "ca.crt": base64(root) },
    })),
  ),
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata("istio-system", "ingress"),
    spec: {
      clusterIP: "10.96.0.9",
      selector: { istio: "ingress" },
      ports: [80, 443, 9000].map((port) => ({ name: `tcp-${port}`, port })),
    },
  },
  {
    apiVersion: group,
    kind: "Gateway",
    metadata: metadata("istio-system", "front"),
    spec: {
      gatewayClassName: "istio",
      addresses: [{ type: "Hostname", value: "ingress.istio-system.svc.cluster.local" }],
      allowedListeners: { namespaces: { from: "All" } },
      listeners: [
        { ...http("http"), allowedRoutes },
        { ...https("https", "route.example.com", "front"), allowedRoutes },
      ],
    },
  },
  route("good", "route", "route.example.com", { name: "front", namespace: "istio-system" }),
  {
    apiVersion: group,
    kind: "ListenerSet",
    metadata: metadata("calm", "set"),
    spec: {
      parentRef: { name: "front", namespace: "istio-system" },
      listeners: [http("http", "set.example.com"), https("https", "set.example.com", "set")],
    },
  },
  route("calm", "set", "set.example.com", { kind: "ListenerSet", group: "gateway.networking.k8s.io", name: "set" }),
];

const typed = (name: string, fields: object): object => ({ "@type": `type.googleapis.com/${name}`, ...fields });
const filter = (applyTo: string, operation: string, value: object): Manifest => ({
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "root", namespace: "istio-system" },
  spec: {
    workloadSelector: { labels: { istio: "ingress" } },
    configPatches: [{ applyTo, match: { context: "GATEWAY" }, patch: { operation, value } }],
  },
});

/** EnvoyFilters of the root namespace, which change the listeners, routes and clusters of all. */
export const rootFilters: readonly (readonly Manifest[])[] = [
  [],
  [
    filter("HTTP_FILTER", "INSERT_FIRST", {
      name: "lua",
      typed_config: typed("envoy.extensions.filters.http.lua.v3.Lua", { inline_code: "x = 1" }),
    }),
  ],
  [filter("VIRTUAL_HOST", "MERGE", { response_headers_to_remove: ["x-a"] })],
  [filter("CLUSTER", "MERGE", { connect_timeout: "3s" })],
  [filter("LISTENER", "MERGE", { per_connection_buffer_limit_bytes: 4096 })],
];

/** Listeners with the hosts of older tenants, in their place in the generated ones. */
const withTheirHosts = (text: string): string =>
  text.replaceAll('"b.a.example.com"', '"set.example.com"').replaceAll('"*.com"', '"route.example.com"');

/** Objects of the Gateway API of hostile tenants. Routes join those of the same host, as the Gateway API has it. */
const gatewayApi = fc
  .tuple(fc.oneof(gatewayApiRoute, gatewayApiObject), fc.constantFrom("evil-1", "evil-2"))
  .map(([manifest, namespace]) => {
    const moved = { ...manifest, metadata: { ...manifest.metadata, namespace } };
    return young(
      /Route$/.test(manifest.kind) ? moved : (JSON.parse(withTheirHosts(JSON.stringify(moved))) as Manifest),
    );
  })
  .filter(isAccepted);

/** Objects of hostile tenants of both APIs, with an index of `rootFilters`. */
export const hostileSharers: fc.Arbitrary<readonly [filters: number, objects: readonly Manifest[]]> = fc
  .tuple(fc.nat({ max: rootFilters.length - 1 }), hostileTenants, fc.array(gatewayApi, { minLength: 1, maxLength: 4 }))
  .map(([filters, tenants, objects]) => [filters, [...tenants, ...objects]] as const);

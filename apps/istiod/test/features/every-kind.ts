import { CertificateAuthority, issueServingCertificate, createSelfSignedRoot, selfSignedBundle } from "@istiod/ca";
import { unverifiableJwks } from "@istiod/push-context";

export interface Document {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: object;
  readonly [field: string]: unknown;
}

const networking = "networking.istio.io/v1";
const gatewayApi = "gateway.networking.k8s.io/v1";
const experimental = "gateway.networking.x-k8s.io/v1alpha1";
const security = "security.istio.io/v1";
const of = (
  apiVersion: string,
  kind: string,
  name: string,
  more: Partial<Document> & { readonly labels?: Record<string, string> } = {},
  namespace: string | undefined = "shop",
): Document => {
  const { labels, ...rest } = more;
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }), ...(labels && { labels }) }, ...rest };
};
const spec = (apiVersion: string, kind: string, name: string, content: object, namespace?: string): Document =>
  of(apiVersion, kind, name, { spec: content }, namespace);
const pod = (name: string, ip: string): Document =>
  of("v1", "Pod", `${name}-v1`, {
    labels: { app: name, version: "v1", "security.istio.io/tlsMode": "istio" },
    spec: {
      serviceAccountName: name,
      nodeName: "node-1",
      containers: [{ name: "app", ports: [{ name: "http", containerPort: 8080 }] }],
    },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] },
  });

const selector = { selector: { matchLabels: { app: "web" } } };
const root = await createSelfSignedRoot({ organization: "shop", key: { type: "ecdsa", curve: "P-256" } }, Date.now());
const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
const tls = await issueServingCertificate(authority, ["shop.example"], 3_600_000, Date.now());
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** An object of each kind, most of which the proxies `web.shop` and `gate.shop` use. */
export const objects: readonly Document[] = [
  of("v1", "Namespace", "shop", { labels: { "istio-injection": "enabled" } }, ""),
  of(
    "v1",
    "Node",
    "node-1",
    { labels: { "topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "z1" } },
    "",
  ),
  spec("v1", "Service", "cart", {
    clusterIP: "10.1.0.1",
    selector: { app: "cart" },
    ports: [{ name: "http", port: 80, targetPort: 8080 }],
  }),
  spec("v1", "Service", "web", {
    clusterIP: "10.1.0.2",
    selector: { app: "web" },
    ports: [{ name: "http", port: 80, targetPort: 8080 }],
  }),
  spec("v1", "Service", "gate", {
    clusterIP: "10.1.0.3",
    selector: { app: "gate" },
    ports: [
      { name: "http", port: 80, targetPort: 8080 },
      { name: "https", port: 443, targetPort: 8443 },
    ],
  }),
  spec("v1", "Service", "db", { clusterIP: "None", selector: { app: "db" }, ports: [{ name: "tcp", port: 3306 }] }),
  of("discovery.k8s.io/v1", "EndpointSlice", "cart-1", {
    labels: { "kubernetes.io/service-name": "cart" },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [
      {
        addresses: ["10.0.1.1"],
        conditions: { ready: true },
        nodeName: "node-1",
        targetRef: { kind: "Pod", name: "cart-v1", namespace: "shop" },
      },
    ],
  }),
  of("discovery.k8s.io/v1", "EndpointSlice", "db-1", {
    labels: { "kubernetes.io/service-name": "db", "service.kubernetes.io/headless": "" },
    addressType: "IPv4",
    ports: [{ name: "tcp", port: 3306 }],
    endpoints: [
      {
        addresses: ["10.0.1.4"],
        conditions: { ready: true },
        hostname: "db-0",
        targetRef: { kind: "Pod", name: "db-v1", namespace: "shop" },
      },
    ],
  }),
  pod("cart", "10.0.1.1"),
  pod("web", "10.0.1.2"),
  pod("gate", "10.0.1.3"),
  pod("db", "10.0.1.4"),
  of("v1", "ServiceAccount", "cart"),
  of("v1", "Secret", "shop-cert", {
    type: "kubernetes.io/tls",
    data: { "tls.crt": base64(tls.cert), "tls.key": base64(tls.key) },
  }),
  of("v1", "ConfigMap", "shop-ca", { data: { "ca.crt": tls.cert } }),
  spec("networking.k8s.io/v1", "IngressClass", "istio", { controller: "istio.io/ingress-controller" }, ""),
  spec("networking.k8s.io/v1", "Ingress", "door", {
    ingressClassName: "istio",
    rules: [
      {
        host: "door.example",
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } }],
        },
      },
    ],
  }),
  spec("multicluster.x-k8s.io/v1alpha1", "ServiceExport", "cart", {}),
  spec("multicluster.x-k8s.io/v1alpha1", "ServiceImport", "cart", {
    type: "ClusterSetIP",
    ips: ["10.9.0.1"],
    ports: [{ port: 80 }],
  }),
  spec(networking, "Gateway", "gate", {
    selector: { app: "gate" },
    servers: [
      {
        port: { number: 443, name: "https", protocol: "HTTPS" },
        hosts: ["shop.example"],
        tls: { mode: "SIMPLE", credentialName: "shop-cert" },
      },
    ],
  }),
  spec(networking, "VirtualService", "shop", {
    hosts: ["shop.example"],
    gateways: ["gate"],
    http: [{ route: [{ destination: { host: "cart" } }] }],
  }),
  spec(networking, "VirtualService", "cart", {
    hosts: ["cart"],
    http: [{ timeout: "3s", route: [{ destination: { host: "cart", subset: "v1" } }] }],
  }),
  spec(networking, "DestinationRule", "cart", {
    host: "cart",
    subsets: [{ name: "v1", labels: { version: "v1" } }],
    trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } },
  }),
  spec(networking, "ServiceEntry", "api", {
    hosts: ["api.example"],
    ports: [{ number: 443, name: "tls", protocol: "TLS" }],
    resolution: "STATIC",
    endpoints: [{ address: "192.0.2.1", labels: { version: "v1" } }],
  }),
  spec(networking, "ServiceEntry", "vms", {
    hosts: ["vms.example"],
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    resolution: "STATIC",
    workloadSelector: { labels: { app: "vm" } },
  }),
  spec(networking, "WorkloadEntry", "vm-1", { address: "192.0.2.9", labels: { app: "vm" }, serviceAccount: "vm" }),
  spec(networking, "WorkloadGroup", "vms", { template: { serviceAccount: "vm" } }),
  spec(networking, "Sidecar", "default", { egress: [{ hosts: ["./*", "sentinel/*"] }] }),
  spec("networking.istio.io/v1alpha3", "EnvoyFilter", "lua", {
    configPatches: [
      {
        applyTo: "CLUSTER",
        match: { context: "SIDECAR_OUTBOUND", cluster: { service: "cart.shop.svc.cluster.local" } },
        patch: { operation: "MERGE", value: { connect_timeout: "3s" } },
      },
    ],
  }),
  spec("networking.istio.io/v1beta1", "ProxyConfig", "web", { concurrency: 1 }),
  spec(gatewayApi, "GatewayClass", "shops", { controllerName: "istio.io/gateway-controller" }, ""),
  spec(gatewayApi, "Gateway", "front", {
    gatewayClassName: "shops",
    addresses: [{ type: "Hostname", value: "gate" }],
    allowedListeners: { namespaces: { from: "Same" } },
    listeners: [
      { name: "http", port: 80, protocol: "HTTP" },
      { name: "tcp", port: 3306, protocol: "TCP" },
      { name: "tls", port: 8443, protocol: "TLS", tls: { mode: "Passthrough" } },
    ],
  }),
  spec(gatewayApi, "ListenerSet", "more", {
    parentRef: { name: "front" },
    listeners: [
      {
        name: "https",
        port: 443,
        protocol: "HTTPS",
        hostname: "more.example",
        tls: { certificateRefs: [{ name: "more-cert", namespace: "vault" }] },
      },
    ],
  }),
  spec("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "certificates", {
    from: [{ group: "gateway.networking.k8s.io", kind: "ListenerSet", namespace: "shop" }],
    to: [{ group: "", kind: "Secret" }],
  }),
  spec(gatewayApi, "HTTPRoute", "front", {
    parentRefs: [{ name: "front" }],
    hostnames: ["front.example"],
    rules: [
      { backendRefs: [{ name: "cart", port: 80 }] },
      {
        matches: [{ path: { value: "/partner" } }],
        backendRefs: [{ group: "gateway.networking.x-k8s.io", kind: "XBackend", name: "partner" }],
      },
      {
        matches: [{ path: { value: "/model" } }],
        backendRefs: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "model" }],
      },
    ],
  }),
  spec(gatewayApi, "GRPCRoute", "front", {
    parentRefs: [{ name: "front" }],
    hostnames: ["grpc.example"],
    rules: [{ backendRefs: [{ name: "cart", port: 80 }] }],
  }),
  spec(gatewayApi, "TCPRoute", "front", {
    parentRefs: [{ name: "front", sectionName: "tcp" }],
    rules: [{ backendRefs: [{ name: "db", port: 3306 }] }],
  }),
  spec(gatewayApi, "TLSRoute", "front", {
    parentRefs: [{ name: "front", sectionName: "tls" }],
    hostnames: ["tls.example"],
    rules: [{ backendRefs: [{ name: "cart", port: 80 }] }],
  }),
  spec(gatewayApi, "BackendTLSPolicy", "api", {
    targetRefs: [{ group: "networking.istio.io", kind: "ServiceEntry", name: "api" }],
    validation: { hostname: "api.example", caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "shop-ca" }] },
  }),
  spec(experimental, "XBackendTrafficPolicy", "db", {
    targetRefs: [{ group: "", kind: "Service", name: "db" }],
    retryConstraint: { budget: { percent: 10 } },
  }),
  spec(experimental, "XBackend", "partner", {
    type: "ExternalHostname",
    externalHostname: { hostname: "partner.example" },
    port: { number: 8443 },
  }),
  spec("inference.networking.k8s.io/v1", "InferencePool", "model", {
    selector: { matchLabels: { app: "model" } },
    targetPorts: [{ number: 8000 }],
    endpointPickerRef: { name: "picker", port: { number: 9002 } },
  }),
  spec(security, "PeerAuthentication", "default", { mtls: { mode: "STRICT" } }),
  spec(security, "RequestAuthentication", "web", { ...selector, jwtRules: [{ issuer: "me", jwks: unverifiableJwks }] }),
  spec(security, "AuthorizationPolicy", "web", { ...selector, rules: [{ to: [{ operation: { paths: ["/x"] } }] }] }),
  spec("telemetry.istio.io/v1", "Telemetry", "web", { accessLogging: [{ providers: [{ name: "envoy" }] }] }),
  spec("extensions.istio.io/v1alpha1", "WasmPlugin", "web", {
    ...selector,
    url: "oci://registry.example/a:v1",
    phase: "AUTHN",
  }),
  spec("extensions.istio.io/v1alpha1", "TrafficExtension", "web", {
    ...selector,
    phase: "AUTHZ",
    lua: { inlineCode: "function envoy_on_request(h) end" },
  }),
];

/** The name of a file of its own for an object. */
export const fileOf = ({ kind, metadata: { name } }: Document): string => `${kind}-${name}.yaml`;
/** An object as YAML. */
export const text = (document: Document): string => JSON.stringify(document, undefined, 1);

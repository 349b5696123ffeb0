import { GROUP, ISTIO_GROUP, type MeshObject, namespaces } from "./random-fields.js";

/** Gateways with a Pod in `gatewayMesh`, and with a Service in `randomObjects`, by name. */
export const deployed = { edge: "infra", inner: "shop" } as const;
/** Ports of the Services of gateways, by name. */
export const gatewayPorts = { http: 80, alt: 8080, https: 443, other: 8443, tls: 9443, tcp: 9000 } as const;

const creationTimestamp = "2024-01-01T00:00:00Z";
const head = (apiVersion: string, kind: string, name: string, namespace?: string): MeshObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }), creationTimestamp },
});

/** Returns a Service whose ports are `name:port[:targetPort[:appProtocol]]`. */
export function service(key: string, ports: readonly string[], spec: object): MeshObject {
  const [namespace = "", name = ""] = key.split("/");
  return {
    ...head("v1", "Service", name, namespace),
    spec: {
      selector: { app: name },
      ports: ports.map((text) => {
        const [portName = "", port = "0", target = port, appProtocol] = text.split(":");
        return {
          name: portName,
          port: Number(port),
          targetPort: Number(target),
          protocol: portName.startsWith("udp") ? "UDP" : "TCP",
          ...(appProtocol !== undefined && { appProtocol }),
        };
      }),
      ...spec,
    },
  };
}

/** Returns a Pod and the EndpointSlice of its Service. */
function pod(key: string, ip: string, ports: Readonly<Record<string, number>>, labels: object): MeshObject[] {
  const [namespace = "", app = ""] = key.split("/");
  const name = `${app}-${ip.replaceAll(".", "-")}`;
  const created = head("v1", "Pod", name, namespace);
  return [
    {
      ...created,
      metadata: { ...created.metadata, labels: { app, ...labels } },
      spec: { serviceAccountName: app, containers: [{ name: "app", image: "app" }] },
      status: {
        phase: "Running",
        podIP: ip,
        podIPs: [{ ip }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    },
    endpointSlice(`${namespace}/${app}`, ip, ports, name),
  ];
}

function endpointSlice(key: string, ip: string, ports: Readonly<Record<string, number>>, podName?: string): MeshObject {
  const [namespace = "", app = ""] = key.split("/");
  const created = head("discovery.k8s.io/v1", "EndpointSlice", `${app}-${ip.replaceAll(".", "-")}`, namespace);
  return {
    ...created,
    metadata: { ...created.metadata, labels: { "kubernetes.io/service-name": app } },
    addressType: "IPv4",
    ports: Object.entries(ports).map(([name, port]) => ({ name, port, protocol: "TCP" })),
    endpoints: [
      {
        addresses: [ip],
        conditions: { ready: true, serving: true, terminating: false },
        ...(podName !== undefined && { targetRef: { kind: "Pod", namespace, name: podName } }),
      },
    ],
  };
}

const sidecar = { "security.istio.io/tlsMode": "istio" };
const nameLabel = "gateway.networking.k8s.io/gateway-name";

/** Services of every kind, and the Pods of some. */
const services: readonly MeshObject[] = [
  service("shop/cart", ["http:80:8080", "tcp:9000:9000", "grpc:7070:7070"], { clusterIP: "10.96.3.1" }),
  ...pod("shop/cart", "10.1.0.1", { http: 8080, tcp: 9000, grpc: 7070 }, sidecar),
  service("shop/web", ["http:80:8080"], { clusterIP: "10.96.3.2" }),
  ...pod("shop/web", "10.1.0.2", { http: 8080 }, sidecar),
  service("payments/ledger", ["http:80:8080", "tcp:9000:9000"], { clusterIP: "10.96.3.3" }),
  ...pod("payments/ledger", "10.1.0.3", { http: 8080, tcp: 9000 }, sidecar),
  service("shop/orders", ["http:80:8080", "tcp-events:9000:9000"], { clusterIP: "None" }),
  ...pod("shop/orders", "10.1.0.4", { http: 8080, "tcp-events": 9000 }, sidecar),
  service("shop/legacy", ["http:80"], {
    type: "ExternalName",
    externalName: "legacy.example.net",
    selector: undefined,
  }),
  service("shop/bare", ["http:80:8080", "any:7000"], { clusterIP: "10.96.3.5", selector: undefined }),
  endpointSlice("shop/bare", "192.0.2.5", { http: 8080, any: 7000 }),
  service(
    "payments/multi",
    [
      "web:80:8080:http",
      "h2:81:8081:kubernetes.io/h2c",
      "secure:443:8443:https",
      "ws:82:8082:kubernetes.io/ws",
      "udp-q:83",
    ],
    { clusterIP: "10.96.3.6" },
  ),
  ...pod("payments/multi", "10.1.0.6", { web: 8080, h2: 8081, secure: 8443, ws: 8082 }, {}),
];

/** A ServiceEntry of HTTP, one of several protocols, and one with a wildcard. */
const serviceEntries: readonly MeshObject[] = [
  {
    ...head(`${ISTIO_GROUP}/v1`, "ServiceEntry", "rates", "shop"),
    spec: {
      hosts: ["rates.example.net"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      endpoints: [{ address: "192.0.2.1" }],
    },
  },
  {
    ...head(`${ISTIO_GROUP}/v1`, "ServiceEntry", "partners", "payments"),
    spec: {
      hosts: ["a.partners.example.net", "b.partners.example.net"],
      ports: [
        { number: 443, name: "tls", protocol: "TLS" },
        { number: 80, name: "http", protocol: "HTTP" },
      ],
      resolution: "DNS",
    },
  },
  {
    ...head(`${ISTIO_GROUP}/v1`, "ServiceEntry", "any", "infra"),
    spec: {
      hosts: ["*.any.example.net"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "NONE",
    },
  },
];

/** Labels of the namespaces. */
const teams = { shop: { team: "shop" }, payments: { team: "payments", tier: "back" }, infra: {} } as const;

/** A certificate and its key, and the certificate of the authority that signed it, in PEM. */
export interface GatewayMeshCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly root: string;
}

/** Namespaces, Services with Pods, and the Pods of the Gateways that `randomObjects` has. */
export function gatewayMesh(pair: GatewayMeshCertificate): readonly MeshObject[] {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const gatewayPod = (key: string, ip: string, labels: object): MeshObject[] => pod(key, ip, gatewayPorts, labels);
  return [
    ...namespaces.map((name): MeshObject => {
      const { metadata, ...rest } = head("v1", "Namespace", name);
      return {
        ...rest,
        metadata: { ...metadata, labels: { "kubernetes.io/metadata.name": name, ...teams[name] } },
      };
    }),
    { ...head(`${GROUP}/v1`, "GatewayClass", "istio"), spec: { controllerName: "istio.io/gateway-controller" } },
    ...namespaces.flatMap((of): readonly MeshObject[] => [
      {
        ...head("v1", "Secret", "certificate", of),
        type: "kubernetes.io/tls",
        data: { "tls.crt": encode(pair.certificate), "tls.key": encode(pair.key) },
      },
      { ...head("v1", "ConfigMap", "roots", of), data: { "ca.crt": pair.root } },
    ]),
    ...services,
    ...serviceEntries,
    ...Object.entries(deployed).flatMap(([name, of], index) =>
      gatewayPod(`${of}/${name}-istio`, `10.1.1.${index + 1}`, { [nameLabel]: name }),
    ),
    ...gatewayPod("infra/manual", "10.1.1.9", { istio: "ingress" }),
  ];
}

/** The proxies of `gatewayMesh`. */
export const gatewayMeshProxies = [
  {
    type: "router",
    namespace: "infra",
    name: "edge-istio-10-1-1-1",
    ip: "10.1.1.1",
    labels: { app: "edge-istio", [nameLabel]: "edge" },
  },
  {
    type: "router",
    namespace: "shop",
    name: "inner-istio-10-1-1-2",
    ip: "10.1.1.2",
    labels: { app: "inner-istio", [nameLabel]: "inner" },
  },
  {
    type: "router",
    namespace: "infra",
    name: "manual-10-1-1-9",
    ip: "10.1.1.9",
    labels: { app: "manual", istio: "ingress" },
  },
  { type: "sidecar", namespace: "shop", name: "web-10-1-0-2", ip: "10.1.0.2", labels: { app: "web", ...sidecar } },
  {
    type: "sidecar",
    namespace: "payments",
    name: "ledger-10-1-0-3",
    ip: "10.1.0.3",
    labels: { app: "ledger", ...sidecar },
  },
] as const;

/** Returns objects as a file of a configuration directory. */
export const toYaml = (objects: readonly MeshObject[]): string =>
  objects.map((each) => `---\n${JSON.stringify(each)}\n`).join("");

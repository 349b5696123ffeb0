import { podYaml, serviceYaml } from "../mesh-yaml.js";
import { GROUP, ISTIO_GROUP, namespaces } from "./random-fields.js";

/** Gateways with a Service and a Pod in `gatewayMesh`, by name. */
export const deployed = { edge: "infra", inner: "shop" } as const;

/** Services with Pods, and those of the Gateways that `randomObjects` has. */
export function gatewayMesh(certificate: { readonly certificate: string; readonly key: string }): string {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const head = (apiVersion: string, kind: string, name: string, of?: string) => ({
    apiVersion,
    kind,
    metadata: { name, ...(of !== undefined && { namespace: of }), creationTimestamp: "2024-01-01T00:00:00Z" },
  });
  const others = [
    ...namespaces.map((name) => {
      const { metadata, ...rest } = head("v1", "Namespace", name);
      return {
        ...rest,
        metadata: {
          ...metadata,
          labels: { "kubernetes.io/metadata.name": name, ...(name !== "infra" && { team: name }) },
        },
      };
    }),
    { ...head(`${GROUP}/v1`, "GatewayClass", "istio"), spec: { controllerName: "istio.io/gateway-controller" } },
    ...namespaces.map((of) => ({
      ...head("v1", "Secret", "certificate", of),
      type: "kubernetes.io/tls",
      data: { "tls.crt": encode(certificate.certificate), "tls.key": encode(certificate.key) },
    })),
    ...namespaces.map((of) => ({
      ...head("v1", "ConfigMap", "roots", of),
      data: { "ca.crt": certificate.certificate },
    })),
    {
      ...head(`${ISTIO_GROUP}/v1`, "ServiceEntry", "rates", "shop"),
      spec: {
        hosts: ["rates.example.net"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        endpoints: [{ address: "192.0.2.1" }],
      },
    },
  ];
  const ports = ["http:80", "alt:8080", "https:443", "other:8443", "tls:9443", "tcp:9000"];
  const gatewayPod = (name: string, of: string, ip: string, labels: object): string =>
    podYaml(name, ip, {
      namespace: of,
      injected: false,
      ports: Object.fromEntries(ports.map((port) => [port.split(":")[0] ?? "", Number(port.split(":")[1])])),
      labels,
    });
  return [
    serviceYaml("cart", { ip: "10.96.0.1", ports: ["http:80:8080", "tcp:9000:9000", "grpc:7070:7070"] }),
    podYaml("cart", "10.1.0.1", { ports: { http: 8080, tcp: 9000, grpc: 7070 } }),
    serviceYaml("web", { ip: "10.96.0.2", ports: ["http:80:8080"] }),
    podYaml("web", "10.1.0.2"),
    serviceYaml("ledger", { ip: "10.96.0.3", namespace: "payments", ports: ["http:80:8080", "tcp:9000:9000"] }),
    podYaml("ledger", "10.1.0.3", { namespace: "payments", ports: { http: 8080, tcp: 9000 } }),
    ...Object.entries(deployed).map(
      ([name, of], index) =>
        serviceYaml(`${name}-istio`, { ip: `10.96.1.${index + 1}`, namespace: of, ports }) +
        gatewayPod(`${name}-istio`, of, `10.1.1.${index + 1}`, { "gateway.networking.k8s.io/gateway-name": name }),
    ),
    serviceYaml("manual", { ip: "10.96.1.9", namespace: "infra", ports }),
    gatewayPod("manual", "infra", "10.1.1.9", { istio: "ingress" }),
    ...others.map((each) => `---\n${JSON.stringify(each)}\n`),
  ].join("");
}

/** The proxies of `gatewayMesh`. */
export const gatewayMeshProxies = [
  {
    type: "router",
    namespace: "infra",
    name: "edge-istio-10-1-1-1",
    ip: "10.1.1.1",
    labels: { app: "edge-istio", "gateway.networking.k8s.io/gateway-name": "edge" },
  },
  {
    type: "router",
    namespace: "shop",
    name: "inner-istio-10-1-1-2",
    ip: "10.1.1.2",
    labels: { app: "inner-istio", "gateway.networking.k8s.io/gateway-name": "inner" },
  },
  {
    type: "router",
    namespace: "infra",
    name: "manual-10-1-1-9",
    ip: "10.1.1.9",
    labels: { app: "manual", istio: "ingress" },
  },
  { type: "sidecar", namespace: "shop", name: "web-10-1-0-2", ip: "10.1.0.2", labels: { app: "web" } },
  { type: "sidecar", namespace: "payments", name: "ledger-10-1-0-3", ip: "10.1.0.3", labels: { app: "ledger" } },
] as const;

import { endpointSliceObject, type KubernetesObject, type Pod, podObject, type Port } from "../mesh/objects.js";
import { placeOf, type ProxyPlace } from "../mesh/proxies.js";

export const shop = "shop";
export const at = { age: 0, resourceVersion: 1 } as const;
export const http: readonly Port[] = [{ name: "http", port: 80, target: 8080 }];

/** Returns what a function returns for each number from 0. */
export const times = <T>(count: number, each: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => each(index));

export const hostOf = (service: string, namespace = shop): string => `${service}.${namespace}.svc.cluster.local`;

/** Returns an address of a pod; unique below four million. */
export const podAddress = (index: number): string => `10.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

/** Returns an address of a service; unique below a million. */
export const serviceAddress = (index: number): string =>
  `10.${192 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

/** A Pod without readiness gates or containers but one. */
export function pod(name: string, index: number, more: Partial<Pod> = {}): Pod {
  return {
    name,
    namespace: shop,
    app: "web",
    version: "v1",
    ip: podAddress(index),
    node: 0,
    ports: http,
    sidecar: true,
    ready: true,
    age: 0,
    ...more,
  };
}

/** The pod of the proxy that asks for its configuration, and its service. */
const client = pod("client", 3_000_000, { app: "client" });
export const clientPlace: ProxyPlace = placeOf(client, "sidecar");
export const clientObjects: readonly KubernetesObject[] = [
  podObject(client, 1),
  service("client", serviceAddress(900_000)),
  endpointSliceObject("client", shop, http, [client], at),
];

const gateway = pod("gateway", 3_000_001, { app: "gateway", ports: [{ name: "https", port: 443, target: 8443 }] });
export const gatewayPlace: ProxyPlace = placeOf(gateway, "router");
export const gatewayObjects: readonly KubernetesObject[] = [
  podObject(gateway, 1),
  service("gateway", serviceAddress(900_001), {
    ports: [
      { name: "http", port: 80, target: 8080 },
      { name: "https", port: 443, target: 8443 },
    ],
  }),
  endpointSliceObject("gateway", shop, gateway.ports, [gateway], at),
];

export interface ServiceFields {
  readonly namespace?: string;
  readonly ports?: readonly Port[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function service(name: string, clusterIP: string, fields: ServiceFields = {}): KubernetesObject {
  const { namespace = shop, ports = http, labels = {}, annotations = {} } = fields;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels, annotations },
    spec: {
      clusterIP,
      ports: ports.map((port) => ({ name: port.name, port: port.port, targetPort: port.target, protocol: "TCP" })),
      selector: { app: name },
    },
  };
}

/** Returns an EndpointSlice of ready addresses. */
export function slice(
  name: string,
  of: string,
  addresses: readonly string[],
  { namespace = shop, ports = http }: Pick<ServiceFields, "namespace" | "ports"> = {},
): KubernetesObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": of } },
    addressType: "IPv4",
    ports: ports.map((port) => ({ name: port.name, port: port.target, protocol: "TCP" })),
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
    })),
  };
}

export function namespace(name: string, labels: Readonly<Record<string, string>> = {}): KubernetesObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

export function istio(kind: string, name: string, spec: object, namespace = shop): KubernetesObject {
  const group = kind === "PeerAuthentication" || kind === "AuthorizationPolicy" ? "security" : "networking";
  return { apiVersion: `${group}.istio.io/v1`, kind, metadata: { name, namespace }, spec };
}

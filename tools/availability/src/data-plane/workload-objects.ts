import type { MeshObject } from "@istiod/outage";

/** The namespace of the workloads that carry requests. */
export const namespace = "shop";
/** Port of Services and of the listeners of proxies; the application listens on the other one. */
export const servicePort = 8000;
export const applicationPort = 9000;

/** A pod with a sidecar, on two loopback addresses. */
export interface PodPlace {
  readonly app: string;
  readonly name: string;
  /** Address of the pod: of its inbound listener, its application and its agent. */
  readonly address: string;
  /** Address of its outbound listener. */
  readonly outbound: string;
}

const node = "machine";

/** Returns the namespace with strict mutual TLS, and the Services with their accounts. */
export function namespaceObjects(apps: readonly string[]): readonly MeshObject[] {
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "Node", metadata: { name: node } },
    ...apps.flatMap((app) => [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: app, namespace } },
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: app, namespace },
        spec: { ports: [{ name: "http", port: servicePort, protocol: "TCP" }], selector: { app } },
      },
    ]),
    {
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: { name: "default", namespace },
      spec: { mtls: { mode: "STRICT" } },
    },
  ];
  return objects as readonly MeshObject[];
}

/** Returns the EndpointSlice of a Service. */
export function endpointSlice(app: string, pods: readonly PodPlace[]): MeshObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: app, namespace, labels: { "kubernetes.io/service-name": app } },
    addressType: "IPv4",
    ports: [{ name: "http", port: servicePort, protocol: "TCP" }],
    endpoints: pods.map(({ name, address }) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: node,
      targetRef: { kind: "Pod", name, namespace },
    })),
  } as MeshObject;
}

/** Labels that the proxy reports and that its Sidecar selects. */
export function labelsOf({ app, name }: PodPlace): Readonly<Record<string, string>> {
  return {
    app,
    pod: name,
    "service.istio.io/canonical-name": app,
    "service.istio.io/canonical-revision": "latest",
    "security.istio.io/tlsMode": "istio",
  };
}

/** Returns a Pod, and the Sidecar by which its proxy listens without redirection of traffic. */
export function podObjects(place: PodPlace): readonly MeshObject[] {
  const { app, name, address, outbound } = place;
  const http = { number: servicePort, protocol: "HTTP", name: "http" };
  return [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels: labelsOf(place) },
      spec: {
        nodeName: node,
        serviceAccountName: app,
        containers: [{ name: app, image: app, ports: [{ containerPort: servicePort }] }],
      },
      status: {
        phase: "Running",
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    } as MeshObject,
    {
      apiVersion: "networking.istio.io/v1",
      kind: "Sidecar",
      metadata: { name, namespace },
      spec: {
        workloadSelector: { labels: { pod: name } },
        ingress: [{ port: http, bind: address, captureMode: "NONE", defaultEndpoint: `0.0.0.0:${applicationPort}` }],
        egress: [{ port: http, bind: outbound, captureMode: "NONE", hosts: [`${namespace}/*`] }],
      },
    } as MeshObject,
  ];
}

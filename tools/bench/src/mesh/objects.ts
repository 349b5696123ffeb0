/** A Kubernetes object. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

/** Metadata that a change sets without an effect on configuration. */
export interface Revision {
  /** Creation time, in seconds after the first object of the mesh. */
  readonly age: number;
  readonly resourceVersion: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Port {
  readonly name: string;
  readonly port: number;
  readonly target: number;
}

export interface Pod {
  readonly name: string;
  readonly namespace: string;
  readonly app: string;
  readonly version: string;
  readonly ip: string;
  readonly node: number;
  readonly ports: readonly Port[];
  /** Has a sidecar. */
  readonly sidecar: boolean;
  readonly ready: boolean;
  readonly age: number;
}

export const rootNamespace = "istio-system";
export const region = "region-1";
const zones = ["zone-a", "zone-b", "zone-c"] as const;
const firstCreated = Date.UTC(2024, 0, 1);

export const nodeName = (node: number): string => `node-${node}`;
export const zoneOf = (node: number): string => zones[node % zones.length] ?? zones[0];
const hostOf = (name: string, namespace: string): string => `${name}.${namespace}.svc.cluster.local`;

/** Returns a unique IPv4 address for each number, never ending in 0 or 255. */
export function address(first: number, second: number, n: number): string {
  const subnet = Math.floor(n / 254);
  return `${first}.${second + (subnet >> 8)}.${subnet & 255}.${(n % 254) + 1}`;
}

function object(
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string | undefined,
  { age, resourceVersion, labels, annotations }: Revision,
  rest: object,
): KubernetesObject {
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    creationTimestamp: new Date(firstCreated + age * 1000).toISOString().replace(".000", ""),
    resourceVersion: String(resourceVersion),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
  return { apiVersion, kind, metadata, ...rest };
}

export function namespaceObject(name: string, at: Revision): KubernetesObject {
  return object(
    "v1",
    "Namespace",
    name,
    undefined,
    { ...at, labels: { "kubernetes.io/metadata.name": name, "istio-injection": "enabled" } },
    {},
  );
}

export function nodeObject(node: number, at: Revision): KubernetesObject {
  const labels = {
    "kubernetes.io/hostname": nodeName(node),
    "topology.kubernetes.io/region": region,
    "topology.kubernetes.io/zone": zoneOf(node),
  };
  return object("v1", "Node", nodeName(node), undefined, { ...at, labels }, {});
}

export function serviceObject(
  name: string,
  namespace: string,
  clusterIP: string,
  ports: readonly Port[],
  at: Revision,
): KubernetesObject {
  return object(
    "v1",
    "Service",
    name,
    namespace,
    { ...at, labels: { app: name } },
    {
      spec: {
        type: "ClusterIP",
        clusterIP,
        clusterIPs: [clusterIP],
        ports: ports.map(({ name, port, target }) => ({ name, port, targetPort: target, protocol: "TCP" })),
        selector: { app: name },
      },
    },
  );
}

export function podLabels({ app, version, sidecar }: Pod): Readonly<Record<string, string>> {
  return {
    app,
    version,
    "service.istio.io/canonical-name": app,
    "service.istio.io/canonical-revision": version,
    ...(sidecar && { "security.istio.io/tlsMode": "istio" }),
    ...(app === gatewayName && { istio: "ingressgateway" }),
  };
}

export function podObject(pod: Pod, resourceVersion: number): KubernetesObject {
  const { name, namespace, app, version, ip, node, ports, age, ready } = pod;
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", controller: true, name: `${app}-${version}-5d4f6c7b8` };
  const made = object(
    "v1",
    "Pod",
    name,
    namespace,
    { age, resourceVersion, labels: { ...podLabels(pod), "pod-template-hash": "5d4f6c7b8" } },
    {
      spec: {
        serviceAccountName: app,
        nodeName: nodeName(node),
        containers: [
          {
            name: "app",
            image: "example/app:1",
            ports: ports.map(({ name, target }) => ({ name, containerPort: target, protocol: "TCP" })),
          },
        ],
      },
      status: {
        phase: "Running",
        podIP: ip,
        podIPs: [{ ip }],
        conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      },
    },
  );
  return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } };
}

export function endpointSliceObject(
  service: string,
  namespace: string,
  ports: readonly Port[],
  pods: readonly Pod[],
  at: Revision,
): KubernetesObject {
  return object(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    service,
    namespace,
    { ...at, labels: { "kubernetes.io/service-name": service } },
    {
      addressType: "IPv4",
      endpoints: pods.map(({ name, ip, node, ready }) => ({
        addresses: [ip],
        conditions: { ready, serving: ready, terminating: false },
        nodeName: nodeName(node),
        zone: zoneOf(node),
        targetRef: { kind: "Pod", name, namespace },
      })),
      ports: ports.map(({ name, target }) => ({ name, port: target, protocol: "TCP" })),
    },
  );
}

export function istioObject(
  kind: string,
  name: string,
  namespace: string,
  at: Revision,
  spec: object,
): KubernetesObject {
  const group = kind === "PeerAuthentication" || kind === "AuthorizationPolicy" ? "security" : "networking";
  return object(`${group}.istio.io/v1`, kind, name, namespace, at, { spec });
}

/** Two subsets by weight, a canary by a header, timeout and retries. `weight` of a hundred goes to v1. */
export function virtualServiceObject(
  service: string,
  namespace: string,
  weight: number,
  timeoutSeconds: number,
  at: Revision,
): KubernetesObject {
  const to = (subset: string): object => ({
    destination: { host: hostOf(service, namespace), subset, port: { number: 80 } },
  });
  return istioObject("VirtualService", service, namespace, at, {
    hosts: [hostOf(service, namespace)],
    http: [
      { name: "canary", match: [{ headers: { "x-canary": { exact: "true" } } }], route: [to("v2")] },
      {
        name: "split",
        route: [
          { ...to("v1"), weight },
          { ...to("v2"), weight: 100 - weight },
        ],
        timeout: `${timeoutSeconds}s`,
        retries: { attempts: 3, perTryTimeout: "1s", retryOn: "5xx,reset,connect-failure" },
      },
    ],
  });
}

export function destinationRuleObject(
  service: string,
  namespace: string,
  maxConnections: number,
  consecutive5xxErrors: number,
  at: Revision,
): KubernetesObject {
  return istioObject("DestinationRule", service, namespace, at, {
    host: hostOf(service, namespace),
    trafficPolicy: {
      connectionPool: {
        tcp: { maxConnections, connectTimeout: "3s" },
        http: { http1MaxPendingRequests: 128, maxRequestsPerConnection: 50 },
      },
      outlierDetection: { consecutive5xxErrors, interval: "10s", baseEjectionTime: "30s", maxEjectionPercent: 50 },
    },
    subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })),
  });
}

/** Returns a policy that allows calls from the namespace itself and the gateway. `revision` is part of a path. */
export function authorizationPolicyObject(namespace: string, revision: number, at: Revision): KubernetesObject {
  return istioObject("AuthorizationPolicy", "allow", namespace, at, {
    action: "ALLOW",
    rules: [
      {
        from: [
          { source: { namespaces: [namespace] } },
          { source: { principals: [`cluster.local/ns/${rootNamespace}/sa/${gatewayName}`] } },
        ],
        to: [
          { operation: { methods: ["GET", "POST"], paths: ["/api/*", ...(revision > 0 ? [`/rev-${revision}`] : [])] } },
        ],
      },
    ],
  });
}

export const gatewayName = "istio-ingressgateway";
export const gatewayPorts: readonly Port[] = [{ name: "http2", port: 80, target: 8080 }];

export function gatewayObject(at: Revision): KubernetesObject {
  return istioObject("Gateway", "mesh-gateway", rootNamespace, at, {
    selector: { istio: "ingressgateway" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*.example.com"] }],
  });
}

/** A route of the gateway to a service; `revision` is in the prefix that it matches. */
export function gatewayRouteObject(
  route: number,
  service: string,
  namespace: string,
  revision: number,
  at: Revision,
): KubernetesObject {
  const destination = { host: hostOf(service, namespace), port: { number: 80 } };
  return istioObject("VirtualService", `gw-${route}`, rootNamespace, at, {
    hosts: [`gw-${route}.example.com`],
    gateways: [`${rootNamespace}/mesh-gateway`],
    http: [
      { match: [{ uri: { prefix: `/api/v${revision}` } }], rewrite: { uri: "/api" }, route: [{ destination }] },
      { match: [{ uri: { prefix: "/" } }], route: [{ destination }] },
    ],
  });
}

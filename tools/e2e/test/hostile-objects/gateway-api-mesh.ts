import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type Resource, routeType } from "@istiod/resources";
import { certificateFor } from "@istiod/e2e";
import { type InferencePoolService, inferencePoolServices } from "@istiod/gateway-api";
import type { Manifest } from "./kinds/manifest.js";
import { ChangingMesh, honestMesh, type HostileMesh, proxiesOf } from "./mesh.js";

/** A host that no hostile object has. */
const goodHost = "good.example.org";

const { root, server } = await certificateFor("example.org");
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Credentials that objects of a namespace can name. */
const credentials = (namespace: string): readonly object[] =>
  ["cart", "front", "a"].flatMap((name) => [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      type: "kubernetes.io/tls",
      data: { "tls.crt": base64(server.cert), "tls.key": base64(server.key), "ca.crt": base64(root) },
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { "ca.crt": root } },
  ]);

const allowedRoutes = { namespaces: { from: "All" } };

/** An honest mesh, and a Gateway of the Gateway API whose Service is that of the tested gateway. */
const honestObjects: readonly object[] = [
  ...honestMesh,
  ...credentials("shop"),
  ...credentials("istio-system"),
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "ingress", namespace: "istio-system" },
    spec: {
      clusterIP: "10.96.0.9",
      selector: { istio: "ingress" },
      ports: [80, 443, 9000].map((port) => ({ name: `tcp-${port}`, port })),
    },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name: "front", namespace: "istio-system", creationTimestamp: "2023-01-01T00:00:00Z" },
    spec: {
      gatewayClassName: "istio",
      addresses: [{ type: "Hostname", value: "ingress.istio-system.svc.cluster.local" }],
      allowedListeners: { namespaces: { from: "All" } },
      listeners: [
        { name: "http", port: 80, protocol: "HTTP", allowedRoutes },
        { name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "front" }] }, allowedRoutes },
        { name: "tls", port: 8443, protocol: "TLS", tls: { mode: "Passthrough" }, allowedRoutes },
        { name: "tcp", port: 9000, protocol: "TCP", allowedRoutes },
      ],
    },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "good", namespace: "istio-system", creationTimestamp: "2023-01-01T00:00:00Z" },
    spec: {
      parentRefs: [{ name: "front" }],
      hostnames: [goodHost],
      rules: [{ backendRefs: [{ name: "ingress", port: 80 }] }],
    },
  },
];

/** Returns the encoded virtual host of the honest route at port 80, and at port 443; empty for one that is missing. */
export function goodVirtualHosts(resources: ReadonlyMap<string, readonly Resource[]>): readonly string[] {
  return ["http.80", "https.443."].map((prefix) => {
    const routes = (resources.get(routeType) ?? []).filter(({ name }) => name.startsWith(prefix));
    const found = routes.flatMap(({ bytes }) =>
      fromBinary(RouteConfigurationSchema, bytes).virtualHosts.filter(({ domains }) => domains.includes(goodHost)),
    );
    return found.map((host) => Buffer.from(toBinary(VirtualHostSchema, host)).toString("base64")).join();
  });
}

/** Returns the mesh with objects, and the Services that the leading istiod writes for InferencePools. */
export function gatewayApiMesh(objects: readonly Manifest[]): HostileMesh {
  const mesh = new ChangingMesh(honestObjects);
  const accepted = mesh.replace(objects);
  const [proxy] = proxiesOf([]);
  const services = mesh.database.view(proxy!).call(inferencePoolServices).map(serviceOfPool);
  if (services.length > 0) mesh.replace([...objects, ...services]);
  return { accepted, database: mesh.database };
}

/** Returns what the API server accepts of the Service of a pool, and so what istiod reads again. */
function serviceOfPool({ namespace, name, labels, selector, ports }: InferencePoolService): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels },
    spec: { clusterIP: "None", selector, ports },
  };
}

import { createRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { proxyFromNode, type VerifiedIdentity } from "@istiod/push-context";
import { lookups } from "../../src/index.js";
import { type Json, TestMesh } from "../mesh.js";

const registry = createRegistry(...envoy);
const types = {
  lds: "envoy.config.listener.v3.Listener",
  rds: "envoy.config.route.v3.RouteConfiguration",
  cds: "envoy.config.cluster.v3.Cluster",
  eds: "envoy.config.endpoint.v3.ClusterLoadAssignment",
} as const;

export const userAgents = {
  go: { name: "gRPC Go", version: "1.84.0" },
  "c-core": { name: "gRPC C-core linux Python", version: "C-core 1.85.3" },
  java: { name: "gRPC Java", version: "1.85.1" },
  node: { name: "gRPC Node Pure JS", version: "1.14.1" },
} as const;

export interface GrpcOptions {
  readonly userAgent?: keyof typeof userAgents;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly region?: string;
  readonly identity?: VerifiedIdentity;
}

/** A gRPC library that requests resources by name. */
export function grpcClient(mesh: TestMesh, options: GrpcOptions = {}) {
  const { userAgent, namespace = "shop", labels = {}, region } = options;
  const view = mesh.db.view(
    proxyFromNode({
      id: `sidecar~10.1.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
      metadata: { GENERATOR: "grpc", NAMESPACE: namespace, LABELS: { ...labels }, CLUSTER_ID: "Kubernetes" },
      ...(region !== undefined && { locality: { region } }),
      ...(userAgent && { userAgent: userAgents[userAgent] }),
    }),
  );
  return {
    view,
    /** Returns a resource as JSON; undefined if there is none. */
    get(type: keyof typeof types, name: string): Json {
      const lookup = lookups[`type.googleapis.com/${types[type]}`];
      const schema = registry.getMessage(types[type]);
      const found = lookup && view.call(lookup, name);
      return found && schema && toJson(schema, fromBinary(schema, found.bytes), { registry });
    },
  };
}

export const cart = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: cart}, ports: [{name: grpc, port: 80, targetPort: 8080}]}
`;
export const cartRoutes = "outbound|80||cart.shop.svc.cluster.local";

/** A VirtualService of cart with HTTP routes in YAML. */
export const routes = (http: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart], http: ${http}}
`;

/** A DestinationRule of cart with a traffic policy in YAML, and the subsets v1 and v2. */
export const rule = (policy?: string): string => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec:
  host: cart
${policy === undefined ? "" : `  trafficPolicy: ${policy}\n`}  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
`;

export function meshOf(...yaml: readonly string[]): TestMesh {
  const mesh = new TestMesh();
  mesh.apply(yaml.join("---\n"));
  return mesh;
}

import type { JsonObject } from "@bufbuild/protobuf";
import { type Node, proxyFromNode, ProxyNodeError } from "@istiod/push-context";
import type { Target } from "../target.js";

const node = (metadata: unknown, id = "sidecar~10.0.0.1~cart-1.shop~shop.svc.cluster.local"): Uint8Array =>
  Buffer.from(JSON.stringify({ id, cluster: "cart.shop", locality: { region: "r" }, metadata }));

/**
 * Nodes of xDS requests as JSON, from which proxies are read. A node is read, or rejected with its documented error.
 */
export const nodeMetadata: Target = {
  name: "node-metadata",
  description: "nodes of xDS requests",
  seeds: [
    node({ NAMESPACE: "shop", LABELS: { app: "cart" }, INSTANCE_IPS: "10.0.0.1,fd00::1", ISTIO_VERSION: "1.29.0" }),
    node({
      PROXY_CONFIG: { discoveryAddress: "istiod:15012", drainDuration: "5s", proxyHeaders: { server: { value: "x" } } },
      CLUSTER_ID: "Kubernetes",
      MESH_ID: "m",
      NETWORK: "n",
      WORKLOAD_NAME: "cart",
      OWNER: "kubernetes://apis/apps/v1/namespaces/shop/deployments/cart",
      INTERCEPTION_MODE: "TPROXY",
      HTTP10: "1",
      DNS_CAPTURE: true,
      UNPRIVILEGED_POD: "true",
      ENABLE_HBONE: "true",
      IDLE_TIMEOUT: "1h",
      STS_PORT: 1,
      POD_PORTS: '[{"name":"http","containerPort":8080,"protocol":"TCP"}]',
      PLATFORM_METADATA: {},
    }),
    node({}, "router~::1~gw.istio-system~istio-system.svc.cluster.local"),
  ],
  dictionary: ["null", "[]", "{}", "-1", "1e999", '"__proto__"', '"constructor"', "~", "\\ud800", "true"].map((text) =>
    Buffer.from(text),
  ),
  run(input) {
    const value = parsed(input);
    if (value === undefined) return;
    try {
      const { ipAddresses } = proxyFromNode(value);
      if (ipAddresses.length === 0) throw new Error("a proxy without an address");
    } catch (error) {
      if (!(error instanceof ProxyNodeError)) throw error;
    }
  },
};

/** Returns a node as the xDS server gives it: an ID, and metadata that is any JSON object. */
function parsed(input: Uint8Array): Node | undefined {
  try {
    const { id, metadata } = JSON.parse(Buffer.from(input).toString()) as { id?: unknown; metadata?: unknown };
    const isObject = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
    return typeof id === "string" ? { id, ...(isObject && { metadata: metadata as JsonObject }) } : undefined;
  } catch {
    return undefined;
  }
}

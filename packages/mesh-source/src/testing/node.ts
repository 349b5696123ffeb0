import { create } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";

export interface NodeOptions {
  /** Default: `sidecar`. */
  readonly type?: "sidecar" | "router";
  /** Default: its name. */
  readonly app?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A node as the agent of a pod describes it. `host` is `name.namespace`. */
export function node(host: string, ip: string, { type = "sidecar", app, labels, metadata }: NodeOptions = {}): Node {
  const [name = "", namespace = ""] = host.split(".");
  return create(NodeSchema, {
    id: `${type}~${ip}~${name}-v1.${namespace}~${namespace}.svc.cluster.local`,
    cluster: `${name}.${namespace}`,
    metadata: {
      NAMESPACE: namespace,
      CLUSTER_ID: "Kubernetes",
      SERVICE_ACCOUNT: name,
      LABELS: { app: app ?? name, version: "v1", ...labels },
      ...metadata,
    },
  });
}

import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { nodeName, type Pod, podLabels, region, zoneOf } from "./objects.js";

/** Location and node metadata of a proxy. Also written as JSON, for other clients. */
export interface ProxyPlace {
  readonly id: string;
  readonly type: "sidecar" | "router";
  readonly ip: string;
  readonly namespace: string;
  /** Of its pod. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly cluster: string;
  readonly region: string;
  readonly zone: string;
  readonly metadata: JsonObject;
}

const istioVersion = "1.29.0";

export function placeOf(pod: Pod, type: ProxyPlace["type"]): ProxyPlace {
  const { name, namespace, app, version, ip, node, ports } = pod;
  const zone = zoneOf(node);
  const labels = { ...podLabels(pod), "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone };
  return {
    id: `${type}~${ip}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    type,
    ip,
    namespace,
    name,
    labels,
    serviceAccount: app,
    cluster: `${app}.${namespace}`,
    region,
    zone,
    metadata: {
      NAME: name,
      NAMESPACE: namespace,
      LABELS: labels,
      SERVICE_ACCOUNT: app,
      NODE_NAME: nodeName(node),
      WORKLOAD_NAME: `${app}-${version}`,
      OWNER: `kubernetes://apis/apps/v1/namespaces/${namespace}/deployments/${app}-${version}`,
      CLUSTER_ID: "Kubernetes",
      MESH_ID: "cluster.local",
      INSTANCE_IPS: ip,
      ISTIO_VERSION: istioVersion,
      INTERCEPTION_MODE: "REDIRECT",
      APP_CONTAINERS: "app",
      POD_PORTS: JSON.stringify(ports.map(({ name, target }) => ({ name, containerPort: target, protocol: "TCP" }))),
      ENVOY_PROMETHEUS_PORT: 15090,
      ENVOY_STATUS_PORT: 15021,
      PROXY_CONFIG: {
        discoveryAddress: "istiod.istio-system.svc:15012",
        drainDuration: "45s",
        proxyAdminPort: 15000,
        serviceCluster: "istio-proxy",
        statNameLength: 189,
        statusPort: 15020,
      },
    },
  };
}

/** Returns the node of the proxy's first request. */
export function nodeOf({ id, cluster, metadata, region, zone }: ProxyPlace): Node {
  return create(NodeSchema, {
    id,
    cluster,
    metadata,
    locality: { region, zone },
    userAgentName: "envoy",
    userAgentVersionType: {
      case: "userAgentBuildVersion",
      value: { version: { majorNumber: 1, minorNumber: 37, patch: 0 } },
    },
    clientFeatures: ["envoy.lb.does_not_support_overprovisioning", "envoy.lrs.supports_send_all_clusters"],
  });
}

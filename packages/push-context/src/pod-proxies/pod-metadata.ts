import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { applyProxyConfigAnnotation, meshConfig, meshConfigKey, type PodObject } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { podWorkload, type Workload } from "@istiod/service-discovery";
import type { Proxy } from "../proxy/proxy.js";
import { callWithoutClient } from "./call-without-client.js";

const metadataPrefix = "ISTIO_META_";

/** Returns the node metadata that the agent of a Pod would send. */
export function podMetadata(database: Database<Proxy>, pod: PodObject): JsonObject {
  const { namespace, name, spec, status, cluster, annotations } = pod;
  const workload = workloadOfPod(database, pod);
  const config = proxyConfigOf(database, pod);
  const interception = annotations["sidecar.istio.io/interceptionMode"];
  return {
    CLUSTER_ID: cluster,
    ENVOY_PROMETHEUS_PORT: 15090,
    ENVOY_STATUS_PORT: 15021,
    INSTANCE_IPS: (status?.podIPs ?? []).join(","),
    ...(Object.keys(annotations).length > 0 && { ANNOTATIONS: { ...annotations } }),
    LABELS: { ...pod.labels },
    MESH_ID: database.read(meshConfig, meshConfigKey)?.trustDomain || "cluster.local",
    NAME: name,
    NAMESPACE: namespace,
    ...(workload?.network ? { NETWORK: workload.network } : {}),
    ...(spec.nodeName === "" ? {} : { NODE_NAME: spec.nodeName }),
    POD_PORTS: JSON.stringify(
      spec.ports.map(({ name: portName, containerPort, protocol }) => ({
        ...(portName && { name: portName }),
        containerPort,
        protocol,
      })),
    ),
    ...(config && { PROXY_CONFIG: proxyConfigJson(config) }),
    SERVICE_ACCOUNT: spec.serviceAccountName,
    WORKLOAD_NAME: workload?.workloadName ?? name,
    ...(interception === undefined ? {} : { INTERCEPTION_MODE: interception }),
    ...metadataVariables(config),
  };
}

/** Returns the workload of a Pod; undefined if service discovery has none. */
export function workloadOfPod(
  database: Database<Proxy>,
  { cluster, namespace, name }: PodObject,
): Workload | undefined {
  return callWithoutClient(database, (view) => view.call(podWorkload, `${cluster}/${namespace}/${name}`));
}

/** Returns the mesh's default with the Pod's annotation merged into it. A malformed annotation is ignored. */
function proxyConfigOf(database: Database<Proxy>, { annotations }: PodObject): ProxyConfig | undefined {
  const base = database.read(meshConfig, meshConfigKey)?.defaultConfig;
  const annotation = annotations["proxy.istio.io/config"];
  if (annotation === undefined) return base;
  return applyProxyConfigAnnotation(base, annotation, { error: () => undefined, warning: () => undefined }) ?? base;
}

const jsonByConfig = new WeakMap<ProxyConfig, JsonObject>();

/** Converts a ProxyConfig to JSON, once for all Pods that share it. */
function proxyConfigJson(config: ProxyConfig): JsonObject {
  let json = jsonByConfig.get(config);
  if (json === undefined) jsonByConfig.set(config, (json = toJson(ProxyConfigSchema, config) as JsonObject));
  return json;
}

/** Returns the metadata that `ISTIO_META_` variables in `proxyMetadata` set. */
function metadataVariables(config: ProxyConfig | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(config?.proxyMetadata ?? {}).flatMap(([key, value]) =>
      key.startsWith(metadataPrefix) ? [[key.slice(metadataPrefix.length), value]] : [],
    ),
  );
}

import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  type GatewayObject,
  gateways,
  mergeProxyConfig,
  meshConfig,
  meshConfigKey,
  type PodObject,
  pods,
} from "@istiod/config-schema";
import { type Database, query } from "@istiod/incremental";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { type Node, type Proxy, proxyFromNode, selectorMatches } from "@istiod/push-context";
import { discoverySettings, podWorkload, type Workload } from "@istiod/service-discovery";
import { parse } from "yaml";

/**
 * The proxies that the Pods of a mesh would have, as their agents would describe them: of each Pod with a sidecar, and
 * of each gateway. Sorted by id. A Pod has a sidecar if injection has left its marks on it; it is a gateway if it was
 * injected as one, if it is one of the Gateway API, or if a Gateway's selector selects it.
 */
export function podProxies(database: Database<Proxy>): readonly Proxy[] {
  return database
    .all(pods)
    .flatMap((pod) => podProxy(database, pod) ?? [])
    .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
}

/** The proxy that one Pod would have; undefined where it would have none, as in {@link podProxies}. */
export function podProxy(database: Database<Proxy>, pod: PodObject): Proxy | undefined {
  return isAlive(pod) && (isInjected(pod) || typeOf(database, pod) !== "sidecar")
    ? proxyOfPod(database, pod)
    : undefined;
}

/**
 * A proxy by `name.namespace` of a Pod, or by a node id; what the id does not say is taken from the Pod of its name, if
 * there is one.
 *
 * @throws ProxyNodeError where the id is none; Error where there is no such Pod.
 */
export function proxyNamed(database: Database<Proxy>, id: string): Proxy {
  const name = id.includes("~") ? (id.split("~")[2] ?? "") : id;
  const pod = database.all(pods).find((candidate) => `${candidate.name}.${candidate.namespace}` === name);
  if (!id.includes("~")) {
    if (pod === undefined)
      throw new Error(
        `there is no Pod ${JSON.stringify(id)}: expected name.namespace of a Pod, or a node id such as sidecar~10.0.0.1~web.shop~shop.svc.cluster.local`,
      );
    if (!isAlive(pod)) throw new Error(`Pod ${id} has no address, or has ended`);
    return proxyOfPod(database, pod);
  }
  if (pod === undefined) return proxyFromNode({ id });
  const { INSTANCE_IPS: _, ...metadata } = metadataOf(database, pod);
  return { ...proxyFromNode({ id, metadata }), verifiedIdentity: identityOf(pod) };
}

/** What the Pod's certificate would say. */
function identityOf({ namespace, spec }: PodObject): NonNullable<Proxy["verifiedIdentity"]> {
  return { namespace, serviceAccount: spec.serviceAccountName };
}

function proxyOfPod(database: Database<Proxy>, pod: PodObject): Proxy {
  const { namespace, name, status } = pod;
  const id = `${typeOf(database, pod)}~${status?.podIPs[0] ?? ""}~${name}.${namespace}~${namespace}.svc.${domainOf(database)}`;
  const node: Node = {
    id,
    cluster: `${pod.labels["app"] ?? workloadOf(database, pod)?.workloadName ?? name}.${namespace}`,
    metadata: metadataOf(database, pod),
  };
  return { ...proxyFromNode(node), verifiedIdentity: identityOf(pod) };
}

function metadataOf(database: Database<Proxy>, pod: PodObject): JsonObject {
  const { namespace, name, spec, status, cluster, annotations } = pod;
  const workload = workloadOf(database, pod);
  const config = proxyConfigOf(database, pod);
  const stated = Object.entries(config?.proxyMetadata ?? {}).flatMap(([key, value]) =>
    key.startsWith(metadataPrefix) ? [[key.slice(metadataPrefix.length), value]] : [],
  );
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
    ...(config && { PROXY_CONFIG: asJson(config) }),
    SERVICE_ACCOUNT: spec.serviceAccountName,
    WORKLOAD_NAME: workload?.workloadName ?? name,
    ...(interception === undefined ? {} : { INTERCEPTION_MODE: interception }),
    ...(Object.fromEntries(stated) as JsonObject),
  };
}

const jsonOf = new WeakMap<ProxyConfig, JsonObject>();

/** Most Pods have the mesh's own. */
function asJson(config: ProxyConfig): JsonObject {
  let json = jsonOf.get(config);
  if (json === undefined) jsonOf.set(config, (json = toJson(ProxyConfigSchema, config) as JsonObject));
  return json;
}

const metadataPrefix = "ISTIO_META_";

/** The mesh's default with what the Pod's annotation sets; one that is no ProxyConfig sets nothing. */
function proxyConfigOf(database: Database<Proxy>, { annotations }: PodObject): ProxyConfig | undefined {
  const base = database.read(meshConfig, meshConfigKey)?.defaultConfig;
  const own = annotations["proxy.istio.io/config"];
  if (own === undefined) return base;
  try {
    const json = (parse(own) ?? {}) as JsonObject;
    return mergeProxyConfig(base, fromJson(ProxyConfigSchema, json, { ignoreUnknownFields: true }), json);
  } catch {
    return base;
  }
}

function typeOf(database: Database<Proxy>, { annotations, labels }: PodObject): "sidecar" | "router" | "waypoint" {
  if (labels["gateway.networking.k8s.io/gateway-class-name"] === "istio-waypoint") return "waypoint";
  const templates = (annotations["inject.istio.io/templates"] ?? "").split(",");
  if (templates.includes("gateway") || labels["gateway.networking.k8s.io/gateway-name"] !== undefined) return "router";
  const selects = ({ spec }: GatewayObject): boolean =>
    Object.keys(spec.selector).length > 0 && selectorMatches(spec.selector, labels);
  return database.all(gateways).some(selects) ? "router" : "sidecar";
}

function isInjected({ annotations, labels }: PodObject): boolean {
  return labels["security.istio.io/tlsMode"] !== undefined || annotations["sidecar.istio.io/status"] !== undefined;
}

function isAlive({ status, spec }: PodObject): boolean {
  return (
    status !== undefined &&
    status.podIPs.length > 0 &&
    !["Failed", "Succeeded"].includes(status.phase) &&
    !spec.terminating
  );
}

/** Discovery asks nothing of the client for this. */
const nobody = proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" });

function workloadOf(database: Database<Proxy>, { cluster, namespace, name }: PodObject): Workload | undefined {
  return asNobody(database, (view) => view.call(podWorkload, `${cluster}/${namespace}/${name}`));
}

const domain = query("explain.domain", (q): string => discoverySettings.domain(q));

function domainOf(database: Database<Proxy>): string {
  return asNobody(database, (view) => view.call(domain));
}

function asNobody<R>(database: Database<Proxy>, ask: (view: ReturnType<Database<Proxy>["view"]>) => R): R {
  const view = database.view(nobody);
  try {
    return ask(view);
  } finally {
    view.release();
  }
}

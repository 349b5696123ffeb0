import { type GatewayObject, gateways, type PodObject, pods } from "@istiod/config-schema";
import { type Database, query } from "@istiod/incremental";
import { discoverySettings } from "@istiod/service-discovery";
import { proxyFromNode } from "../proxy/from-node.js";
import type { Proxy, ProxyType, VerifiedIdentity } from "../proxy/proxy.js";
import { selectorMatches } from "../proxy/labels.js";
import { callWithoutClient } from "./call-without-client.js";
import { podMetadata, workloadOfPod } from "./pod-metadata.js";

/**
 * Returns the proxies of all Pods, as their agents would describe them, sorted by node ID. A Pod has a sidecar if
 * injection has labeled or annotated it. It is a gateway if it was injected with the gateway template, belongs to a
 * Gateway of the Gateway API, or is selected by an Istio Gateway.
 */
export function podProxies(database: Database<Proxy>): readonly Proxy[] {
  return database
    .all(pods)
    .flatMap((pod) => podProxy(database, pod) ?? [])
    .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
}

/** Returns the proxy of a Pod; undefined if the Pod has none, as in {@link podProxies}. */
export function podProxy(database: Database<Proxy>, pod: PodObject): Proxy | undefined {
  const type = podProxyType(database, pod);
  return type && describePod(database, pod, type);
}

/** Returns the type of a Pod's proxy; undefined if the Pod has none, as in {@link podProxies}. */
export function podProxyType(database: Database<Proxy>, pod: PodObject): ProxyType | undefined {
  if (!isRunning(pod)) return undefined;
  const type = proxyType(database, pod);
  return type !== "sidecar" || isInjected(pod) ? type : undefined;
}

/**
 * Returns the proxy named by `name.namespace` of a Pod or by a node ID. Metadata of a node ID is taken from the Pod
 * that it names, if there is one.
 *
 * @throws ProxyNodeError if the node ID is malformed; Error if there is no such Pod or it is not running.
 */
export function proxyNamed(database: Database<Proxy>, id: string): Proxy {
  const isNodeId = id.includes("~");
  const name = isNodeId ? (id.split("~")[2] ?? "") : id;
  const pod = database.all(pods).find((candidate) => `${candidate.name}.${candidate.namespace}` === name);
  if (!isNodeId) {
    if (pod === undefined)
      throw new Error(
        `there is no Pod ${JSON.stringify(id)}: expected name.namespace of a Pod, or a node id such as sidecar~10.0.0.1~web.shop~shop.svc.cluster.local`,
      );
    if (!isRunning(pod)) throw new Error(`Pod ${id} has no address or has terminated`);
    return describePod(database, pod, proxyType(database, pod));
  }
  if (pod === undefined) return proxyFromNode({ id });
  const { INSTANCE_IPS: _, ...metadata } = podMetadata(database, pod);
  return { ...proxyFromNode({ id, metadata }), verifiedIdentity: identityOf(pod) };
}

function describePod(database: Database<Proxy>, pod: PodObject, type: ProxyType): Proxy {
  const { namespace, name, status } = pod;
  const domain = callWithoutClient(database, (view) => view.call(clusterDomain));
  const proxy = proxyFromNode({
    id: `${type}~${status?.podIPs[0] ?? ""}~${name}.${namespace}~${namespace}.svc.${domain}`,
    cluster: `${pod.labels["app"] ?? workloadOfPod(database, pod)?.workloadName ?? name}.${namespace}`,
    metadata: podMetadata(database, pod),
  });
  return { ...proxy, verifiedIdentity: identityOf(pod) };
}

const clusterDomain = query("podProxies.clusterDomain", (q): string => discoverySettings.domain(q));

/** Returns the identity that the Pod's certificate would have. */
function identityOf({ namespace, spec }: PodObject): VerifiedIdentity {
  return { namespace, serviceAccount: spec.serviceAccountName };
}

function proxyType(database: Database<Proxy>, { annotations, labels }: PodObject): ProxyType {
  if (labels["gateway.networking.k8s.io/gateway-class-name"] === "istio-waypoint") return "waypoint";
  const templates = (annotations["inject.istio.io/templates"] ?? "").split(",");
  if (templates.includes("gateway") || labels["gateway.networking.k8s.io/gateway-name"] !== undefined) return "router";
  const selectsPod = ({ spec }: GatewayObject): boolean =>
    Object.keys(spec.selector).length > 0 && selectorMatches(spec.selector, labels);
  return database.all(gateways).some(selectsPod) ? "router" : "sidecar";
}

function isInjected({ annotations, labels }: PodObject): boolean {
  return labels["security.istio.io/tlsMode"] !== undefined || annotations["sidecar.istio.io/status"] !== undefined;
}

function isRunning({ status, spec }: PodObject): boolean {
  return (
    status !== undefined &&
    status.podIPs.length > 0 &&
    !["Failed", "Succeeded"].includes(status.phase) &&
    !spec.terminating
  );
}

import { nodes, pods, type PodObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { localityOfLabels, REGION_LABEL, SUBZONE_LABEL, tlsModeOf, withTopology, ZONE_LABEL } from "../labels.js";
import type { Labels } from "../model/service.js";
import type { Workload } from "../model/workload.js";
import { networkOf } from "../network/network-of.js";
import { spiffeId } from "../settings/mesh.js";
import { workloadNameOf } from "./workload-name.js";

/**
 * The workload that a pod is (`cluster/namespace/name`); undefined for one that does not exist or has failed. Readiness
 * is not part of it, so a probe that fails changes nothing here.
 */
export const podWorkload = query("podWorkload", (q, key: string): Workload | undefined => {
  const pod = q.read(pods, key);
  return pod === undefined || pod.status?.phase === "Failed" ? undefined : convert(q, pod);
});

function convert(q: QueryContext, pod: PodObject): Workload {
  const { cluster, namespace, name, spec } = pod;
  const addresses = pod.status?.podIPs ?? [];
  const locality =
    localityOfLabels(pod.labels) || (spec.nodeName === "" ? "" : q.call(nodeLocality, `${cluster}/${spec.nodeName}`));
  const network = networkOf(q, cluster, addresses[0] ?? "", pod.labels);
  return {
    kind: "Pod",
    cluster,
    namespace,
    name,
    workloadName: workloadNameOf(pod),
    addresses,
    labels: withTopology(pod.labels, { cluster, locality, nodeName: spec.nodeName, network }),
    serviceAccount: spec.serviceAccountName,
    identity: spiffeId(q, namespace, spec.serviceAccountName),
    locality,
    network,
    nodeName: spec.nodeName,
    tlsMode: tlsModeOf(pod.labels),
    hostname: spec.subdomain === "" ? "" : spec.hostname || name,
    subdomain: spec.subdomain,
    weight: 0,
    ports: namedPorts(pod),
    dnsOnly: false,
  };
}

/** The locality of a node (`cluster/name`), by its labels; empty if unknown. */
const nodeLocality = query("nodeLocality", (q, key: string): string => {
  const labels: Labels = q.read(nodes, key)?.labels ?? {};
  const region = labels[REGION_LABEL] || labels["failure-domain.beta.kubernetes.io/region"] || "";
  const zone = labels[ZONE_LABEL] || labels["failure-domain.beta.kubernetes.io/zone"] || "";
  const subzone = labels[SUBZONE_LABEL] ?? "";
  return region === "" && zone === "" && subzone === "" ? "" : `${region}/${zone}/${subzone}`;
});

/** Whether a ServiceEntry can select a pod: it has an address, is ready, and is not ending. */
export function isSelectable(pod: PodObject): boolean {
  const { status, spec } = pod;
  return (
    status !== undefined &&
    status.ready &&
    status.podIPs.length > 0 &&
    status.phase !== "Failed" &&
    status.phase !== "Succeeded" &&
    !spec.terminating
  );
}

/** TCP ports of the containers by name; the first of a name wins, as in Kubernetes. */
function namedPorts(pod: PodObject): Readonly<Record<string, number>> {
  const out: Record<string, number> = {};
  for (const { name, protocol, containerPort } of pod.spec.ports) {
    if (name !== "" && protocol === "TCP") out[name] ??= containerPort;
  }
  return out;
}

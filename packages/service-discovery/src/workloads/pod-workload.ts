import { nodes, pods, type PodObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  localityFromLabels,
  REGION_LABEL,
  SUBZONE_LABEL,
  tlsModeFromLabels,
  withTopology,
  ZONE_LABEL,
} from "../labels.js";
import type { Labels } from "../model/service.js";
import type { Workload } from "../model/workload.js";
import { workloadNetwork } from "../network/workload-network.js";
import { spiffeId } from "../settings/mesh.js";
import { workloadNameOf } from "./workload-name.js";

/**
 * The workload of a pod (`cluster/namespace/name`); undefined if the pod does not exist or has failed. It does not
 * include readiness, so a failed probe does not change it.
 */
export const podWorkload = query("podWorkload", (q, key: string): Workload | undefined => {
  const pod = q.read(pods, key);
  return pod === undefined || pod.status?.phase === "Failed" ? undefined : convertPod(q, pod);
});

function convertPod(q: QueryContext, pod: PodObject): Workload {
  const { cluster, namespace, name, spec } = pod;
  const addresses = pod.status?.podIPs ?? [];
  const locality =
    localityFromLabels(pod.labels) || (spec.nodeName === "" ? "" : q.call(nodeLocality, `${cluster}/${spec.nodeName}`));
  const network = workloadNetwork(q, cluster, addresses[0] ?? "", pod.labels);
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
    tlsMode: tlsModeFromLabels(pod.labels),
    hostname: spec.subdomain === "" ? "" : spec.hostname || name,
    subdomain: spec.subdomain,
    weight: 0,
    ports: namedPorts(pod),
    dnsOnly: false,
  };
}

/** The locality of a node (`cluster/name`) by its labels; empty if unknown. */
const nodeLocality = query("nodeLocality", (q, key: string): string => {
  const labels: Labels = q.read(nodes, key)?.labels ?? {};
  const region = labels[REGION_LABEL] || labels["failure-domain.beta.kubernetes.io/region"] || "";
  const zone = labels[ZONE_LABEL] || labels["failure-domain.beta.kubernetes.io/zone"] || "";
  const subzone = labels[SUBZONE_LABEL] ?? "";
  return region === "" && zone === "" && subzone === "" ? "" : `${region}/${zone}/${subzone}`;
});

/** Reports whether a ServiceEntry can select a pod: it has an address, is ready and is not terminating. */
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

/** Returns the TCP ports of the containers by name; the first port with a name is used, as in Kubernetes. */
function namedPorts(pod: PodObject): Readonly<Record<string, number>> {
  const out: Record<string, number> = {};
  for (const { name, protocol, containerPort } of pod.spec.ports) {
    if (name !== "" && protocol === "TCP") out[name] ??= containerPort;
  }
  return out;
}

import type { Labels } from "./model/service.js";
import { DISABLED_TLS_MODE } from "./model/endpoint.js";

/** Labels that Istio reads on workloads, services and nodes. */
export const CLUSTER_LABEL = "topology.istio.io/cluster";
export const NETWORK_LABEL = "topology.istio.io/network";
export const REGION_LABEL = "topology.kubernetes.io/region";
export const ZONE_LABEL = "topology.kubernetes.io/zone";
export const SUBZONE_LABEL = "topology.istio.io/subzone";
export const NODE_LABEL = "kubernetes.io/hostname";
export const CANONICAL_NAME_LABEL = "service.istio.io/canonical-name";
export const CANONICAL_REVISION_LABEL = "service.istio.io/canonical-revision";
export const WORKLOAD_NAME_LABEL = "service.istio.io/workload-name";

const LOCALITY_LABEL = "topology.istio.io/locality";
const LEGACY_LOCALITY_LABEL = "istio-locality";
const TLS_MODE_LABEL = "security.istio.io/tlsMode";

/** Whether `labels` has everything that `wanted` asks for. Asking for nothing is met by all. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  for (const name in wanted) {
    if (labels[name] !== wanted[name]) return false;
  }
  return true;
}

/** Whether a Service's selector selects a workload. An empty selector selects none. */
export function selects(selector: Labels | undefined, labels: Labels): boolean {
  return selector !== undefined && Object.keys(selector).length > 0 && hasLabels(labels, selector);
}

/**
 * The locality that a workload's own labels state, as `region/zone/subzone`, or empty. Dots stand for slashes, which
 * labels cannot hold.
 */
export function localityOfLabels(labels: Labels): string {
  const stated = labels[LOCALITY_LABEL] ?? labels[LEGACY_LOCALITY_LABEL] ?? "";
  return stated.includes("/") ? stated : stated.replaceAll(".", "/");
}

/** The region, zone and subzone of `region/zone/subzone`; empty where missing. */
export function splitLocality(locality: string): readonly [region: string, zone: string, subzone: string] {
  const [region = "", zone = "", subzone = ""] = locality.split("/");
  return [region, zone, subzone];
}

/** Where a workload runs. Empty parts are unknown. */
export interface Topology {
  readonly cluster: string;
  readonly locality: string;
  readonly nodeName: string;
  readonly network: string;
}

/** A workload's labels with those of its topology added; a network that is labelled stays. */
export function withTopology(labels: Labels, topology: Topology): Labels {
  const [region, zone, subzone] = splitLocality(topology.locality);
  const out: Record<string, string> = {};
  for (const name in labels) out[name] = labels[name] as string;
  if (region !== "") out[REGION_LABEL] = region;
  if (zone !== "") out[ZONE_LABEL] = zone;
  if (subzone !== "") out[SUBZONE_LABEL] = subzone;
  if (topology.cluster !== "") out[CLUSTER_LABEL] = topology.cluster;
  if (topology.nodeName !== "") out[NODE_LABEL] = topology.nodeName;
  if (topology.network !== "" && (out[NETWORK_LABEL] ?? "") === "") out[NETWORK_LABEL] = topology.network;
  return out;
}

/** The TLS mode that a workload's labels state; `disabled` without. Values are not limited to Istio's own. */
export function tlsModeOf(labels: Labels): string {
  return labels[TLS_MODE_LABEL] ?? DISABLED_TLS_MODE;
}

/** Whether the labels state a TLS mode. */
export function statesTlsMode(labels: Labels): boolean {
  return labels[TLS_MODE_LABEL] !== undefined;
}

/** The canonical service of a workload: its name (default: the workload's) and revision (default `latest`). */
export function canonicalServiceOf(
  labels: Labels,
  workloadName: string,
): { readonly name: string; readonly revision: string } {
  return {
    name: labels[CANONICAL_NAME_LABEL] ?? labels["app.kubernetes.io/name"] ?? labels["app"] ?? workloadName,
    revision: labels[CANONICAL_REVISION_LABEL] ?? labels["app.kubernetes.io/version"] ?? labels["version"] ?? "latest",
  };
}

import type { Labels } from "./model/service.js";
import { DISABLED_TLS_MODE } from "./model/endpoint.js";

/** Labels of workloads, services and nodes that Istio reads. */
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

/** Reports whether `labels` has all labels of `selector`. An empty selector matches. */
export function hasLabels(labels: Labels, selector: Labels): boolean {
  for (const name in selector) {
    if (labels[name] !== selector[name]) return false;
  }
  return true;
}

/** Reports whether a Service's selector selects a workload. An absent or empty selector selects none. */
export function selects(selector: Labels | undefined, labels: Labels): boolean {
  return selector !== undefined && Object.keys(selector).length > 0 && hasLabels(labels, selector);
}

/**
 * Returns the locality in a workload's labels as `region/zone/subzone`; empty if they have none. Dots replace slashes,
 * which are invalid in labels.
 */
export function localityFromLabels(labels: Labels): string {
  const locality = labels[LOCALITY_LABEL] ?? labels[LEGACY_LOCALITY_LABEL] ?? "";
  return locality.includes("/") ? locality : locality.replaceAll(".", "/");
}

/** Returns the region, zone and subzone of `region/zone/subzone`; missing parts are empty. */
export function splitLocality(locality: string): readonly [region: string, zone: string, subzone: string] {
  const [region = "", zone = "", subzone = ""] = locality.split("/");
  return [region, zone, subzone];
}

/** Location of a workload. Unknown parts are empty. */
export interface Topology {
  readonly cluster: string;
  readonly locality: string;
  readonly nodeName: string;
  readonly network: string;
}

/** Returns a workload's labels with topology labels added. An existing network label is kept. */
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

/** Returns the TLS mode in a workload's labels; `disabled` by default. Values are not limited to Istio's own. */
export function tlsModeFromLabels(labels: Labels): string {
  return labels[TLS_MODE_LABEL] ?? DISABLED_TLS_MODE;
}

/** Reports whether the labels set a TLS mode. */
export function hasTlsMode(labels: Labels): boolean {
  return labels[TLS_MODE_LABEL] !== undefined;
}

/** Returns the canonical name (default: the workload's name) and revision (default: `latest`) of a workload. */
export function canonicalServiceOf(
  labels: Labels,
  workloadName: string,
): { readonly name: string; readonly revision: string } {
  return {
    name: labels[CANONICAL_NAME_LABEL] ?? labels["app.kubernetes.io/name"] ?? labels["app"] ?? workloadName,
    revision: labels[CANONICAL_REVISION_LABEL] ?? labels["app.kubernetes.io/version"] ?? labels["version"] ?? "latest",
  };
}

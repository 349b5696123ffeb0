import type { QueryContext } from "@istiod/incremental";
import { registeredLabels } from "@istiod/service-discovery";
import { identityOf } from "./service-targets.js";
import type { Locality, Proxy } from "./proxy.js";

/** Labels of an object, name to value. */
export type Labels = Readonly<Record<string, string>>;

const region = "topology.kubernetes.io/region";
const zone = "topology.kubernetes.io/zone";
const subzone = "topology.istio.io/subzone";
const localityOverrides = ["topology.istio.io/locality", "istio-locality"] as const;

/**
 * Returns the labels by which policies select a proxy: those of its workload in the registry, over its static labels;
 * if the workload is unknown (or the proxy simulates a virtual machine in Istio's tests), the labels in its metadata.
 * Topology labels for cluster, network, node and locality are added (pilot/pkg/xds/ads.go, setTopologyLabels).
 */
export function labelsOf(proxy: Proxy, q: QueryContext): Labels {
  const labels = workloadLabels(proxy, q);
  const locality = parseLocalityLabels(labels) ?? proxy.nodeLocality;
  const { CLUSTER_ID, NODE_NAME, NETWORK } = proxy.metadata;
  return {
    ...labels,
    ...labelIfSet(region, locality?.region),
    ...labelIfSet(zone, locality?.zone),
    ...labelIfSet(subzone, locality?.subzone),
    ...labelIfSet("topology.istio.io/cluster", CLUSTER_ID),
    ...labelIfSet("kubernetes.io/hostname", NODE_NAME),
    ...labelIfSet("topology.istio.io/network", labels["topology.istio.io/network"] || NETWORK),
  };
}

/** Returns the locality of a proxy: from its registered labels, else from its metadata's labels, else from its node. */
export function localityOf(proxy: Proxy, q: QueryContext): Locality {
  return parseLocalityLabels(workloadLabels(proxy, q)) ?? proxy.nodeLocality ?? { region: "", zone: "", subzone: "" };
}

/** Reports whether `labels` has all labels of `selector`. */
export function selectorMatches(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

function workloadLabels(proxy: Proxy, q: QueryContext): Labels {
  const fromNode = proxy.metadata.LABELS ?? {};
  if ((fromNode["istio.io/test-vm"] ?? "") !== "") {
    return fromNode;
  }
  const registered = q.call(registeredLabels, identityOf(proxy));
  return registered === undefined ? fromNode : { ...proxy.metadata.STATIC_LABELS, ...registered };
}

function parseLocalityLabels(labels: Labels): Locality | undefined {
  if (labels[region] !== undefined || labels[zone] !== undefined || labels[subzone] !== undefined) {
    return { region: labels[region] ?? "", zone: labels[zone] ?? "", subzone: labels[subzone] ?? "" };
  }
  const [override] = localityOverrides.flatMap((name) => labels[name] ?? []);
  if (override === undefined || override === "") {
    return undefined;
  }
  const [overrideRegion = "", overrideZone = "", overrideSubzone = ""] = override.split("/");
  return { region: overrideRegion, zone: overrideZone, subzone: overrideSubzone };
}

function labelIfSet(name: string, value: string | undefined): Labels {
  return value === undefined || value === "" ? {} : { [name]: value };
}

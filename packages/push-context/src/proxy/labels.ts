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
 * The labels by which policies select a proxy: those of the workload that the registry knows at its address, over its
 * static ones; where it knows none (or the proxy stands for a virtual machine in Istio's tests), those in its metadata.
 * The topology labels of its cluster, network, node and locality are added (pilot/pkg/xds/ads.go, setTopologyLabels).
 */
export function labelsOf(proxy: Proxy, q: QueryContext): Labels {
  const labels = declaredLabelsOf(proxy, q);
  const locality = localityAmong(labels) ?? proxy.nodeLocality;
  const { CLUSTER_ID, NODE_NAME, NETWORK } = proxy.metadata;
  return {
    ...labels,
    ...present(region, locality?.region),
    ...present(zone, locality?.zone),
    ...present(subzone, locality?.subzone),
    ...present("topology.istio.io/cluster", CLUSTER_ID),
    ...present("kubernetes.io/hostname", NODE_NAME),
    ...present("topology.istio.io/network", labels["topology.istio.io/network"] || NETWORK),
  };
}

/** Where a proxy runs: as the registry says, else as its labels say, else as its node says. */
export function localityOf(proxy: Proxy, q: QueryContext): Locality {
  return localityAmong(declaredLabelsOf(proxy, q)) ?? proxy.nodeLocality ?? { region: "", zone: "", subzone: "" };
}

/** Whether every label of `selector` is among `labels`. */
export function selectorMatches(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

function declaredLabelsOf(proxy: Proxy, q: QueryContext): Labels {
  const fromNode = proxy.metadata.LABELS ?? {};
  if ((fromNode["istio.io/test-vm"] ?? "") !== "") {
    return fromNode;
  }
  const registered = q.call(registeredLabels, identityOf(proxy));
  return registered === undefined ? fromNode : { ...proxy.metadata.STATIC_LABELS, ...registered };
}

function localityAmong(labels: Labels): Locality | undefined {
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

function present(name: string, value: string | undefined): Labels {
  return value === undefined || value === "" ? {} : { [name]: value };
}

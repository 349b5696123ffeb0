import { nodes } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import {
  hasLabels,
  NODE_LABEL,
  REGION_LABEL,
  SUBZONE_LABEL,
  withTopology,
  ZONE_LABEL,
} from "@istiod/service-discovery";
import { podsOfProfile, selectedPods } from "./pods.js";

type Labels = Readonly<Record<string, string>>;

const topologyLabels = [REGION_LABEL, ZONE_LABEL, SUBZONE_LABEL, NODE_LABEL];

/** Reports whether labels include a topology label, which pods inherit from their nodes. */
export function hasTopologyLabels(labels: Labels): boolean {
  return topologyLabels.some((name) => labels[name] !== undefined);
}

/**
 * Reports whether any pod has all of the labels, including the topology labels of its node. Pods of a template and
 * WorkloadEntries may be anywhere.
 */
export const isAnyPodAtTopology = query("isAnyPodAtTopology", (q, labels: Labels): boolean => {
  const own = Object.fromEntries(Object.entries(labels).filter(([name]) => !topologyLabels.includes(name)));
  return q.call(selectedPods, { labels: own }).some((profile) => {
    const found = podsOfProfile(q, profile);
    if (found.length === 0) return true;
    return found.some(({ cluster, spec: { nodeName } }) => {
      const locality = localityOfNode(q.read(nodes, `${cluster}/${nodeName}`)?.labels ?? {});
      return hasLabels(withTopology(profile.labels, { cluster: "", locality, nodeName, network: "" }), labels);
    });
  });
});

/** Returns `region/zone/subzone` of a node, up to the first missing part after the region. */
function localityOfNode(labels: Labels): string {
  const [region, zone, subzone] = [REGION_LABEL, ZONE_LABEL, SUBZONE_LABEL].map((name) => labels[name] ?? "");
  if (!zone) return region ?? "";
  return subzone ? `${region}/${zone}/${subzone}` : `${region}/${zone}`;
}

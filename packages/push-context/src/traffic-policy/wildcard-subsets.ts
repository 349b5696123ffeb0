import { query, type QueryContext } from "@istiod/incremental";
import { service, serviceOrder, splitKey } from "@istiod/service-discovery";
import { features } from "../mesh/features.js";
import { isSubsetOfHost } from "../visibility/host-names.js";

/** A rule with a wildcard host, and the services for which its clusters are counted. */
export interface WildcardRule {
  readonly host: string;
  readonly subsets: number;
  /** Counts only services of this namespace; undefined counts those of all namespaces. */
  readonly namespace: string | undefined;
}

/** Rules with up to this many subsets are not bounded: what they multiply are objects, which somebody wrote. */
const fewSubsets = 16;

/**
 * The number of subsets of a rule that have clusters, and why there are no more. A wildcard host multiplies the subsets
 * with the ports of all services that it covers: two objects of a few kilobytes would become gigabytes. Services of
 * other namespaces do not count for those of the rule's namespace, so that nobody else can use up the rule's share.
 */
export function wildcardSubsets(q: QueryContext, rule: WildcardRule): { readonly count: number; reason?: string } {
  if (rule.subsets <= fewSubsets) return { count: rule.subsets };
  const count = q.call(allowedSubsets, rule);
  if (count === rule.subsets) return { count };
  const { maxRuleClusters: bound } = features;
  return {
    count,
    reason: `the ${rule.subsets} subsets of ${rule.host} at all ports of its services are more than ${bound(q)} clusters (${bound.variable})`,
  };
}

const allowedSubsets = query(
  "wildcardSubsets",
  (q, { host, subsets, namespace }: WildcardRule): number =>
    Math.min(
      subsets,
      Math.max(
        fewSubsets,
        Math.floor(features.maxRuleClusters(q) / Math.max(1, q.call(coveredPorts, { host, namespace }))),
      ),
    ),
  { key: ({ host, subsets, namespace }: WildcardRule) => `${namespace ?? ""}/${host}/${subsets}` },
);

/** The number of ports of the services that a wildcard host covers. */
export const coveredPorts = query(
  "coveredPorts",
  (q, { host, namespace }: Pick<WildcardRule, "host" | "namespace">): number => {
    let ports = 0;
    for (const id of q.call(serviceOrder)) {
      const [owner, hostname] = splitKey(id);
      if ((namespace !== undefined && owner !== namespace) || !isSubsetOfHost(hostname, host)) continue;
      ports += q.call(service, id)?.ports.filter(({ protocol }) => protocol !== "UDP").length ?? 0;
    }
    return ports;
  },
  { key: ({ host, namespace }: Pick<WildcardRule, "host" | "namespace">) => `${namespace ?? ""}/${host}` },
);

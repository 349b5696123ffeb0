import type { QueryContext } from "@istiod/incremental";
import type {
  LocalityLoadBalancerSetting,
  LocalityLoadBalancerSetting_Distribute,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { isLabelled, label, type Locality, locality, type LocalitySetting, proxyType } from "@istiod/push-context";
import { NETWORK_LABEL, splitLocality } from "@istiod/service-discovery";
import { compactPriorities, groupBy, type LocalityGroup, totalWeight, type Weighted } from "./locality-group.js";

/** The locality preference of a client. */
export interface LocalityPreference {
  readonly setting: LocalitySetting | undefined;
  /** True if the cluster has outlier detection, without which Envoy never fails over to a lower priority. */
  readonly detectsOutliers: boolean;
  /** True if `failoverPriority` labels apply. */
  readonly usesLabels: boolean;
}

/**
 * Returns groups with weights and priorities for the client's locality, which is read only if it matters.
 * Source: pilot/pkg/networking/core/loadbalancer.
 */
export function applyLocalityPreference<M extends Weighted>(
  q: QueryContext,
  groups: readonly LocalityGroup<M>[],
  preference: LocalityPreference,
): readonly LocalityGroup<M>[] {
  const { setting: chosen, detectsOutliers } = preference;
  if (groups.length === 0 || chosen === undefined) return groups;
  const prioritizeIfLabelled = (labels: readonly string[]): readonly LocalityGroup<M>[] =>
    labels.length === 0 || !preference.usesLabels || !q.ask(isLabelled, undefined)
      ? groups
      : prioritizeByLabels(q, groups, labels);
  if (chosen.kind === "zoneAware") {
    const { enabled, failoverPriority, failover } = chosen.setting;
    if (enabled === false || q.ask(proxyType) === "waypoint") return groups;
    return prioritizeByRegion(q, prioritizeIfLabelled(failoverPriority), failover);
  }
  const { distribute, failoverPriority, failover } = chosen.setting;
  if (distribute.length > 0) return applyDistribution(q.ask(locality), groups, distribute);
  if (!detectsOutliers && !chosen.forceFailover) return groups;
  const explicit = failoverPriority.length > 0 && failover.length === 0;
  return explicit
    ? prioritizeIfLabelled(failoverPriority)
    : prioritizeByLocality(q, prioritizeIfLabelled(failoverPriority), failover);
}

/**
 * Applies the weights of the first setting for the client's locality. Localities that it does not name lose their
 * endpoints.
 */
function applyDistribution<M extends Weighted>(
  own: Locality,
  groups: readonly LocalityGroup<M>[],
  settings: readonly LocalityLoadBalancerSetting_Distribute[],
): readonly LocalityGroup<M>[] {
  const setting = settings.find(({ from }) => matchesLocality(from, own));
  if (setting === undefined) return groups;
  const weights = new Map<LocalityGroup<M>, number>();
  const remaining = new Set(groups);
  // The wildcard comes last, so that it applies to localities that nothing else names.
  for (const to of Object.keys(setting.to).sort().reverse()) {
    const named = [...remaining].filter((group) => matchesLocality(to, localityOf(group)));
    const total = named.reduce((sum, { weight }) => sum + (weight ?? 1), 0);
    for (const group of named) {
      remaining.delete(group);
      const weight = Math.ceil(((group.weight ?? 1) * (setting.to[to] ?? 0)) / total);
      if (weight > 0) weights.set(group, weight);
    }
  }
  return groups.map((group) =>
    remaining.has(group) ? { ...group, members: [] } : { ...group, weight: weights.get(group) ?? group.weight },
  );
}

/**
 * Prioritizes groups by how much of the client's locality they share, within their existing priorities. `failover`
 * prefers one region to others.
 */
function prioritizeByLocality<M extends Weighted>(
  q: QueryContext,
  groups: readonly LocalityGroup<M>[],
  failover: LocalityLoadBalancerSetting["failover"],
): readonly LocalityGroup<M>[] {
  const own = q.ask(locality);
  const preferred = failover.find(({ from }) => from === own.region)?.to;
  return compactPriorities(
    groups.map((group) => {
      const { region, zone, subzone } = localityOf(group);
      const distance =
        region !== own.region
          ? preferred === undefined || region === preferred
            ? 3
            : 4
          : zone !== own.zone
            ? 2
            : subzone !== own.subzone
              ? 1
              : 0;
      return { ...group, priority: group.priority * 5 + distance };
    }),
  );
}

/** Prioritizes groups by region only, so that zones of one region share the load. */
function prioritizeByRegion<M extends Weighted>(
  q: QueryContext,
  groups: readonly LocalityGroup<M>[],
  failover: readonly { readonly from: string; readonly to: string }[],
): readonly LocalityGroup<M>[] {
  const { region: own } = q.ask(locality);
  const preferred = failover.find(({ from }) => from === own)?.to;
  return compactPriorities(
    groups.map((group) => {
      const { region } = localityOf(group);
      return { ...group, priority: group.priority * 3 + (region === own ? 0 : region === preferred ? 1 : 2) };
    }),
  );
}

/**
 * Splits groups by how many of the labels, in order, their members share with the client: the first label that differs
 * decides. `name=value` compares with that value. A client without labels has no such preference. If the first label is
 * the network, endpoints of other networks rank below all local ones.
 */
function prioritizeByLabels<M extends Weighted>(
  q: QueryContext,
  groups: readonly LocalityGroup<M>[],
  priorityLabels: readonly string[],
): readonly LocalityGroup<M>[] {
  const priorities = priorityLabels.map((entry) => {
    const parts = entry.split("=");
    const [name = "", value] = parts;
    return { name, value: (parts.length === 2 ? value : q.ask(label, name)) ?? "" };
  });
  const networkFirst = priorityLabels[0] === NETWORK_LABEL;
  return compactPriorities(
    groups.flatMap((group) => {
      const byPriority = groupBy(group.members, ({ labels }) => {
        const differs = priorities.map(({ name, value }) => (labels[name] ?? "") !== value);
        const elsewhere = networkFirst && differs[0] === true;
        const first = differs.findIndex((different, position) => different && !(elsewhere && position === 0));
        return (first < 0 ? 0 : priorities.length - first) + (elsewhere ? priorities.length : 0);
      });
      return [...byPriority]
        .sort(([a], [b]) => a - b)
        .map(([priority, members]) => ({ ...group, members, weight: totalWeight(members), priority }));
    }),
  );
}

/** Reports whether `region/zone/subzone`, in which `*` and missing parts match anything, matches a locality. */
function matchesLocality(rule: string, { region, zone, subzone }: Locality): boolean {
  const [ruleRegion, ruleZone, ruleSubzone] = splitLocality(rule);
  const fits = (part: string, actual: string): boolean => part === "*" || part === "" || part === actual;
  return (ruleRegion === "*" || ruleRegion === region) && fits(ruleZone, zone) && fits(ruleSubzone, subzone);
}

function localityOf(group: LocalityGroup<Weighted>): Locality {
  const [region, zone, subzone] = splitLocality(group.locality);
  return { region, zone, subzone };
}

import type {
  LocalityLoadBalancerSetting,
  ZoneAwareLoadBalancerSetting,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { nearestNames } from "@istiod/settings";
import { checkRange } from "../numbers.js";
import { each, type Place } from "../place.js";

const topologyLabels = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "topology.istio.io/subzone"];

/** Labels that endpoints have without those of their workloads. */
const endpointLabels = [
  ...topologyLabels,
  "topology.istio.io/network",
  "topology.istio.io/cluster",
  "kubernetes.io/hostname",
];

/** Warns of a misspelled label: clients and endpoints that both lack it count as equal, so that it has no effect. */
function checkPriorityLabel(entry: string, place: Place): void {
  const [label = ""] = entry.split("=");
  const name = endpointLabels.includes(label) ? undefined : endpointLabels.find((each) => isMisspelled(label, each));
  if (name !== undefined)
    place.warning(
      `is ${JSON.stringify(entry)}, which has no effect unless workloads have the label: did you mean ${JSON.stringify(name)}?`,
      "no-effect",
    );
}

/** Reports whether a label is another one with a misspelled word, or is in the domain of one of the others. */
function isMisspelled(label: string, expected: string): boolean {
  const [domain, name] = label.split("/");
  const [ownDomain, ownName] = expected.split("/");
  const isKnownDomain = endpointLabels.some((other) => other.startsWith(`${domain}/`));
  if (name === ownName && domain !== ownDomain && isKnownDomain) return true;
  const words = label.split(/[./]/);
  const expectedWords = expected.split(/[./]/);
  const different = expectedWords.flatMap((word, i) => (word === words[i] ? [] : [[word, words[i] ?? ""] as const]));
  return (
    words.length === expectedWords.length &&
    different.length <= 1 &&
    different.every(([word, written]) => nearestNames(word, [written], 1).length > 0)
  );
}

/**
 * Checks locality load balancing settings.
 *
 * @param hasOutlierDetection failover depends on ejected endpoints, so without outlier detection it has no effect
 */
export function checkLocalityLb(
  setting: LocalityLoadBalancerSetting | undefined,
  hasOutlierDetection: boolean,
  place: Place,
): void {
  if (setting === undefined) return;
  const { distribute, failover, failoverPriority } = setting;
  if (distribute.length > 0 && failover.length > 0) {
    place.at("failover").error("is set together with distribute, expected only one of them");
    return;
  }
  if (failover.length > 0) {
    each(failoverPriority, place.at("failoverPriority"), (label, at) => {
      if (topologyLabels.includes(label)) at.error(`is ${label} together with failover, expected no topology label`);
    });
  }
  each(failoverPriority, place.at("failoverPriority"), checkPriorityLabel);
  each(distribute, place.at("distribute"), (d, at) => {
    const weights = Object.entries(d.to);
    for (const [locality, weight] of weights) checkRange(weight, 1, 100, at.at("to", locality));
    const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
    if (total !== 100) at.at("to").error(`has weights of ${total} in all, expected 100`);
    const narrowFirst = Object.keys(d.to).sort(
      (a, b) => Number(a.includes("*")) - Number(b.includes("*")) || (a < b ? -1 : 1),
    );
    checkDisjoint(narrowFirst, (i) => at.at("to", narrowFirst[i] ?? ""));
  });
  checkDisjoint(
    distribute.map((d) => d.from),
    (i) => place.at("distribute", i, "from"),
  );
  checkFailover(failover, failover.length > 0 || failoverPriority.length > 0, hasOutlierDetection, place);
}

export function checkZoneAwareLb(
  setting: ZoneAwareLoadBalancerSetting | undefined,
  hasOutlierDetection: boolean,
  place: Place,
): void {
  if (setting === undefined) return;
  each(setting.failoverPriority, place.at("failoverPriority"), (label, at) => {
    if (topologyLabels.includes(label)) at.error(`is ${label}, expected no topology label: topology always counts`);
    else checkPriorityLabel(label, at);
  });
  checkFailover(
    setting.failover,
    setting.failover.length > 0 || setting.failoverPriority.length > 0,
    hasOutlierDetection,
    place,
  );
}

function checkFailover(
  failover: readonly { readonly from: string; readonly to: string }[],
  configured: boolean,
  hasOutlierDetection: boolean,
  place: Place,
): void {
  if (configured && !hasOutlierDetection)
    place.warning("has no effect without outlierDetection, which detects failing endpoints");
  each(failover, place.at("failover"), ({ from, to }, at) => {
    if (from === to) at.error(`goes from ${JSON.stringify(from)} to itself, expected another region`);
    if (from.includes("/") || to.includes("/")) at.error("names a zone, expected regions only");
    if (from.includes("*") || to.includes("*")) at.error("has a wildcard, expected names of regions");
  });
}

/**
 * Checks that no locality (`region/zone/subzone`, all but the first optional, `*` at the end for any) is within an
 * earlier one. A wildcard may follow a locality that it includes: the first match applies.
 */
function checkDisjoint(localities: readonly string[], placeOf: (index: number) => Place): void {
  const seen = new LocalitySet();
  for (const [i, locality] of localities.entries()) {
    const star = locality.indexOf("*");
    if (star >= 0 && star !== locality.length - 1) {
      placeOf(i).error(`is ${JSON.stringify(locality)}, expected * only once, at the end`);
      return;
    }
    const [region = "", zone, ...subzone] = locality.split("/");
    const parts = [region, ...(zone === undefined ? [] : [zone]), ...(subzone.length === 0 ? [] : [subzone.join("/")])];
    if (parts.includes("")) {
      placeOf(i).error(`is ${JSON.stringify(locality)}, expected region/zone/subzone with no part empty`);
      return;
    }
    const other = seen.overlapping(parts);
    if (other !== undefined) {
      placeOf(i).error(`is ${JSON.stringify(locality)}, which overlaps ${JSON.stringify(other)}`);
      return;
    }
    seen.add(parts);
  }
}

/** Localities, of which one that overlaps another is found without comparing all: there may be tens of thousands. */
class LocalitySet {
  /** Localities by all their first parts, by all their parts, and by those before a final `*`. */
  readonly #byPrefix = new Map<string, string>();
  readonly #whole = new Map<string, string>();
  readonly #wildcards = new Map<string, string>();

  add(parts: readonly string[]): void {
    const name = parts.join("/");
    for (const prefix of prefixes(parts)) if (!this.#byPrefix.has(prefix)) this.#byPrefix.set(prefix, name);
    this.#whole.set(name, name);
    if (parts.at(-1) === "*") this.#wildcards.set(parts.slice(0, -1).join("/"), name);
  }

  /** Returns a locality that includes another one, or begins with its parts; undefined if there is none. */
  overlapping(parts: readonly string[]): string | undefined {
    const including = ["", ...prefixes(parts)].map((prefix) => this.#whole.get(prefix) ?? this.#wildcards.get(prefix));
    return including.find((name) => name !== undefined) ?? this.#byPrefix.get(parts.join("/"));
  }
}

/** Returns the first parts of a locality: the region, region and zone, and so on. */
function prefixes(parts: readonly string[]): readonly string[] {
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}

import { type DestinationRuleObject, destinationRules, readDiscovered } from "@istiod/config-schema";
import { type Database, type ExplainedQuery, query, type View } from "@istiod/incremental";
import {
  type ConsolidatedRule,
  type Destination,
  destinationRuleFor,
  exportScope,
  isExportedTo,
  isWildcard,
  mesh,
  type Proxy,
  rootNamespace,
} from "@istiod/push-context";
import { type Maker, walk } from "../maker.js";
import { objectsRead } from "../made-from.js";
import { type Loss, loss, named } from "./loss.js";
import { selectsClient } from "./selects-client.js";

/** DestinationRules for a host of the resource that do not apply to the client, or only in part. */
export function losingDestinationRules(
  database: Database<Proxy>,
  view: View<Proxy>,
  { queries }: Maker,
): readonly Loss[] {
  const lookups = queries.filter(({ definition, outcome }) => definition === destinationRuleFor && outcome === "value");
  return lookups.flatMap((lookup) => {
    const candidates = rulesLookedThrough(database, lookup);
    if (candidates.length === 0) return [];
    const at = lookup.arg as unknown as Destination;
    const winner = lookup.result as ConsolidatedRule | undefined;
    return candidates.flatMap((rule) => {
      const key = keyOf(rule);
      const reason = winner?.from.includes(key) ? givesWay(candidates, winner, rule) : whyNot(view, rule, at, winner);
      return reason === undefined
        ? []
        : [
            loss(
              "DestinationRule",
              key,
              reason,
              winner === undefined
                ? {}
                : { field: "spec.host", winner: named("DestinationRule", `${winner.namespace}/${winner.name}`) },
            ),
          ];
    });
  });
}

function rulesLookedThrough(database: Database<Proxy>, lookup: ExplainedQuery): readonly DestinationRuleObject[] {
  const keys = objectsRead(walk(lookup).reads).filter(
    ({ kind, read }) => kind === "DestinationRule" && read === "candidate",
  );
  return keys.flatMap(({ key }) => readDiscovered(database, destinationRules, key) ?? []);
}

/** What of a rule that is merged into an older one has no effect. */
function givesWay(
  candidates: readonly DestinationRuleObject[],
  winner: ConsolidatedRule,
  rule: DestinationRuleObject,
): string | undefined {
  const before = winner.from
    .slice(0, winner.from.indexOf(keyOf(rule)))
    .flatMap((key) => candidates.filter((each) => keyOf(each) === key));
  const taken = new Set(before.flatMap(({ spec }) => spec.subsets.map(({ name }) => name)));
  const lost = rule.spec.subsets.filter(({ name }) => taken.has(name)).map(({ name }) => `subset ${name}`);
  const earlier = before.find(({ spec }) => spec.trafficPolicy !== undefined);
  const parts = [...(rule.spec.trafficPolicy !== undefined && earlier !== undefined ? ["trafficPolicy"] : []), ...lost];
  return parts.length === 0
    ? undefined
    : `is merged with DestinationRule ${winner.from[0]}, which comes first; without effect: ${parts.join(", ")}`;
}

/**
 * Why a rule is not the client's for a host: in the order in which rules are looked up
 * (pilot/pkg/model/push_context.go, destinationRule).
 */
function whyNot(
  view: View<Proxy>,
  rule: DestinationRuleObject,
  { host, serviceNamespace }: Destination,
  winner: ConsolidatedRule | undefined,
): string {
  const { namespace, spec } = rule;
  const client = view.client.namespace;
  const { root, privateByDefault } = view.call(lookupSettings);
  if (namespace !== client && spec.workloadSelector !== undefined)
    return "selects workloads, and so applies to clients of its own namespace only";
  const declared = spec.exportTo.length > 0 || !privateByDefault ? spec.exportTo : ["."];
  if (!isExportedTo(exportScope(declared, namespace), client)) return `is not exported to namespace ${client}`;
  if (![client, serviceNamespace, root].includes(namespace))
    return `is in namespace ${namespace}, which is neither the client's, nor the service's, nor the root namespace`;
  if (!view.call(selectsClient, { ...spec.workloadSelector?.matchLabels }))
    return "has a workloadSelector that does not select the client";
  if (winner === undefined) return `does not apply to ${host}`;
  const other = `DestinationRule ${winner.namespace}/${winner.name}`;
  if (winner.namespace !== namespace)
    return `gives way to ${other}: rules of the client's namespace count first, then those of the service's, then those of the root namespace`;
  if (breadth(host, rule.spec.host) > breadth(host, winner.spec.host))
    return `gives way to ${other}, whose host ${winner.spec.host} is more specific than ${spec.host}`;
  if (winner.spec.workloadSelector !== undefined)
    return `gives way to ${other}, whose workloadSelector selects the client`;
  return `gives way to ${other}, which comes first by age and name and is not merged with it`;
}

const lookupSettings = query("explain.ruleLookupSettings", (q) => ({
  root: rootNamespace(q),
  privateByDefault: mesh(q).defaultDestinationRuleExportTo.includes("."),
}));

/** How far from the host itself a pattern is that covers it; a short name is the host itself. */
function breadth(host: string, pattern: string): number {
  return isWildcard(pattern) && pattern !== host ? host.length + 1 - pattern.length : 0;
}

function keyOf({ namespace, name }: DestinationRuleObject): string {
  return `${namespace}/${name}`;
}

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
import { objectsRead } from "../provenance/objects-read.js";
import { type Producer, producerFrom } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";
import { selectsClient } from "./selects-client.js";

/** Returns DestinationRules for the hosts of a resource that do not apply to the client, or only in part. */
export function ignoredDestinationRules(
  database: Database<Proxy>,
  view: View<Proxy>,
  { queries }: Producer,
): readonly IgnoredConfig[] {
  const lookups = queries.filter(({ definition, outcome }) => definition === destinationRuleFor && outcome === "value");
  return lookups.flatMap((lookup) => {
    const candidates = candidateRules(database, lookup);
    const applied = lookup.result as ConsolidatedRule | undefined;
    const details =
      applied === undefined
        ? {}
        : {
            field: "spec.host",
            overriddenBy: objectReference("DestinationRule", `${applied.namespace}/${applied.name}`),
          };
    return candidates.flatMap((rule) => {
      const key = keyOf(rule);
      const reason = applied?.from.includes(key)
        ? reasonPartlyIgnored(candidates, applied, rule)
        : reasonIgnored(view, rule, lookup.arg as unknown as Destination, applied);
      return reason === undefined ? [] : [ignoredConfig("DestinationRule", key, reason, details)];
    });
  });
}

function candidateRules(database: Database<Proxy>, lookup: ExplainedQuery): readonly DestinationRuleObject[] {
  const keys = objectsRead(producerFrom(lookup).reads).filter(
    ({ kind, read }) => kind === "DestinationRule" && read === "candidate",
  );
  return keys.flatMap(({ key }) => readDiscovered(database, destinationRules, key) ?? []);
}

/** Lists the parts of a merged rule that rules with precedence define already; undefined if there are none. */
function reasonPartlyIgnored(
  candidates: readonly DestinationRuleObject[],
  applied: ConsolidatedRule,
  rule: DestinationRuleObject,
): string | undefined {
  const earlier = applied.from
    .slice(0, applied.from.indexOf(keyOf(rule)))
    .flatMap((key) => candidates.filter((candidate) => keyOf(candidate) === key));
  const definedSubsets = new Set(earlier.flatMap(({ spec }) => spec.subsets.map(({ name }) => name)));
  const ignoredParts = [
    ...(rule.spec.trafficPolicy && earlier.some(({ spec }) => spec.trafficPolicy) ? ["trafficPolicy"] : []),
    ...rule.spec.subsets.filter(({ name }) => definedSubsets.has(name)).map(({ name }) => `subset ${name}`),
  ];
  return ignoredParts.length === 0
    ? undefined
    : `is merged into DestinationRule ${applied.from[0]}, which takes precedence; ignored: ${ignoredParts.join(", ")}`;
}

/**
 * Explains why a rule does not apply to the client for a host. Checks in the order of the lookup
 * (pilot/pkg/model/push_context.go, destinationRule).
 */
function reasonIgnored(
  view: View<Proxy>,
  rule: DestinationRuleObject,
  { host, serviceNamespace }: Destination,
  applied: ConsolidatedRule | undefined,
): string {
  const { namespace, spec } = rule;
  const client = view.client.namespace;
  const { root, privateByDefault } = view.call(lookupSettings);
  if (namespace !== client && spec.workloadSelector !== undefined)
    return "has a workloadSelector, which limits it to clients in its own namespace";
  const declared = spec.exportTo.length > 0 || !privateByDefault ? spec.exportTo : ["."];
  if (!isExportedTo(exportScope(declared, namespace), client)) return `is not exported to namespace ${client}`;
  if (![client, serviceNamespace, root].includes(namespace))
    return `is in namespace ${namespace}, which is neither the client's, nor the service's, nor the root namespace`;
  if (!view.call(selectsClient, { ...spec.workloadSelector?.matchLabels }))
    return "has a workloadSelector that does not select the client";
  if (applied === undefined) return `does not apply to ${host}`;
  const overridden = `is overridden by DestinationRule ${applied.namespace}/${applied.name}`;
  if (applied.namespace !== namespace)
    return `${overridden}: rules in the client's namespace take precedence over the service's namespace, then the root namespace`;
  if (wildcardBreadth(host, rule.spec.host) > wildcardBreadth(host, applied.spec.host))
    return `${overridden}, whose host ${applied.spec.host} is more specific than ${spec.host}`;
  if (applied.spec.workloadSelector !== undefined) return `${overridden}, whose workloadSelector selects the client`;
  return `${overridden}, which takes precedence by age and name and is not merged with it`;
}

const lookupSettings = query("explain.ruleLookupSettings", (q) => ({
  root: rootNamespace(q),
  privateByDefault: mesh(q).defaultDestinationRuleExportTo.includes("."),
}));

/** Number of characters of a host that a wildcard matches, plus one; 0 for an exact host or a short name. */
function wildcardBreadth(host: string, pattern: string): number {
  return isWildcard(pattern) && pattern !== host ? host.length + 1 - pattern.length : 0;
}

function keyOf({ namespace, name }: DestinationRuleObject): string {
  return `${namespace}/${name}`;
}

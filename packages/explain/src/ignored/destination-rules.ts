import { type DestinationRuleObject, destinationRules, readDiscovered } from "@istiod/config-schema";
import { type Database, type ExplainedQuery, query, type View } from "@istiod/incremental";
import {
  type ConsolidatedRule,
  type Destination,
  destinationRuleFor,
  partsDefinedBefore,
  type Proxy,
  reasonUnapplied,
  ruleLookupSettings,
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
  const settings = view.call(lookupSettings);
  const client = {
    namespace: view.client.namespace,
    selectedBy: (labels: Readonly<Record<string, string>>) => view.call(selectsClient, { ...labels }),
  };
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
        : reasonUnapplied(settings, rule, lookup.arg as unknown as Destination, client, applied);
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
  const { trafficPolicy, subsets } = partsDefinedBefore(earlier, rule);
  const ignoredParts = [
    ...(trafficPolicy === undefined ? [] : ["trafficPolicy"]),
    ...[...subsets.keys()].map((name) => `subset ${name}`),
  ];
  return ignoredParts.length === 0
    ? undefined
    : `is merged into DestinationRule ${applied.from[0]}, which takes precedence; ignored: ${ignoredParts.join(", ")}`;
}

const lookupSettings = query("explain.ruleLookupSettings", (q) => ruleLookupSettings(q));

function keyOf({ namespace, name }: DestinationRuleObject): string {
  return `${namespace}/${name}`;
}

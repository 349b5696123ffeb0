import { type ConsolidatedRule, selectorMatches } from "@istiod/push-context";
import { shortName } from "./short-name.js";

type Subset = ConsolidatedRule["spec"]["subsets"][number];
type TrafficPolicy = NonNullable<ConsolidatedRule["spec"]["trafficPolicy"]>;

/** The names of `ClientTLSSettings.TLSmode`, by number. */
const tlsModes = ["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"];

/** Names of subsets that any of the Pods belongs to, and of the others. */
export interface SubsetMatch {
  readonly matching: readonly string[];
  readonly others: readonly string[];
}

/** Returns which subsets any of the Pods belongs to, by their labels. */
export function subsetMatch(
  subsets: readonly Subset[],
  pods: readonly Readonly<Record<string, string>>[],
): SubsetMatch {
  const isMatching = ({ labels }: Subset): boolean => pods.some((pod) => selectorMatches(labels, pod));
  return {
    matching: subsets.filter(isMatching).map(({ name }) => name),
    others: subsets.filter((subset) => !isMatching(subset)).map(({ name }) => name),
  };
}

/** Describes a DestinationRule: its subsets, and what its policy sets. */
export function describeDestinationRule(
  rule: ConsolidatedRule,
  { matching, others }: SubsetMatch,
  commandNamespace: string,
): string {
  const { host, trafficPolicy } = rule.spec;
  const names = rule.from
    .map((key) => {
      const [namespace = "", name = ""] = key.split("/");
      return shortName({ namespace, name }, commandNamespace);
    })
    .join(", ");
  return [
    `DestinationRule: ${names} for "${host}"`,
    ...(matching.length === 0 && others.length > 0
      ? [`   WARNING POD DOES NOT MATCH ANY SUBSETS.  (Non matching subsets ${others.join(",")})`]
      : []),
    ...(matching.length + others.length > 0 ? [`   Matching subsets: ${matching.join(",")}`] : []),
    ...(others.length > 0 ? [`      (Non-matching subsets ${others.join(",")})`] : []),
    ...(trafficPolicy ? describePolicy(trafficPolicy) : ["   No Traffic Policy"]),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

type PolicyParts = Pick<TrafficPolicy, "loadBalancer" | "connectionPool" | "outlierDetection" | "tls">;

function describePolicy(policy: TrafficPolicy): string[] {
  const ofPorts = policy.portLevelSettings.flatMap((settings) => [
    `    ${settings.port?.number ?? 0}:`,
    ...describeParts(settings, "      TLS Mode", "      "),
  ]);
  return [
    ...describeParts(policy, "   Traffic Policy TLS Mode", "   "),
    ...(ofPorts.length > 0 ? ["   Port Level Settings:", ...ofPorts] : []),
  ];
}

function describeParts(
  { tls, loadBalancer, connectionPool, outlierDetection }: PolicyParts,
  tlsTitle: string,
  indent: string,
): string[] {
  const parts = Object.entries({
    "load balancer": loadBalancer,
    "connection pool": connectionPool,
    "outlier detection": outlierDetection,
  }).flatMap(([name, part]) => (part ? [name] : []));
  return [
    ...(tls ? [`${tlsTitle}: ${tlsModes[tls.mode]}`] : []),
    ...(parts.length > 0 ? [`${indent}Policies: ${parts.join("/")}`] : []),
  ];
}

import { query, type QueryContext } from "@istiod/incremental";
import type { Subset, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { mesh } from "../mesh/mesh-config.js";
import { inNamespace, matchesLabels } from "../proxy/facts.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { portPolicy, subsetPolicy, findSubset, withMeshDefaults } from "./effective-policy.js";
import {
  applicableRule,
  clientOfWorkload,
  type Destination,
  ruleCandidates,
  type RuleClient,
  type RuleWorkload,
} from "./rule-candidates.js";

export type { Destination } from "./rule-candidates.js";

/** A port of a service or of one of its subsets. */
export interface PolicyTarget extends Destination {
  readonly port: number;
  /** Absent or empty for the service itself. */
  readonly subset?: string;
}

/** The DestinationRule that applies to the client's requests to a service. */
export const destinationRuleFor = query(
  "destinationRuleFor",
  (q, destination: Destination) => {
    const client = askingClient(q);
    return applicableRule(ruleCandidates(q, destination, client), client);
  },
  { key: destinationKey },
);

function destinationKey({ host, serviceNamespace }: Destination): string {
  return `${serviceNamespace}/${host}`;
}

/**
 * The DestinationRule that applies to requests that the client receives for a service. Rules with a workload selector
 * are ignored.
 */
export const inboundDestinationRuleFor = query("inboundDestinationRuleFor", (q, destination: Destination) =>
  ruleCandidates(q, destination, askingClient(q)).findLast((rule) => rule.spec.workloadSelector === undefined),
);

/** The traffic policy for the client's requests to a port: the subset's over the rule's, with the mesh's defaults. */
export const trafficPolicyFor = query(
  "trafficPolicyFor",
  (q, { host, serviceNamespace, port, subset = "" }: PolicyTarget): TrafficPolicy | undefined => {
    const rule = q.call(destinationRuleFor, { host, serviceNamespace })?.spec;
    const own = withMeshDefaults(mesh(q).defaultTrafficPolicy, portPolicy(rule?.trafficPolicy, port));
    return subset === "" ? own : subsetPolicy(own, findSubset(rule, subset)?.trafficPolicy, port);
  },
);

/** The subsets of a service as the client sees them. */
export const subsetsOf = query(
  "subsetsOf",
  (q, destination: Destination): readonly Subset[] => q.call(destinationRuleFor, destination)?.spec.subsets ?? [],
);

/** Returns the rule that applies to requests of a workload to a service, as it applies to the workload's proxy. */
export function destinationRuleForWorkload(
  q: QueryContext,
  destination: Destination,
  workload: RuleWorkload,
): ConsolidatedRule | undefined {
  const client = clientOfWorkload(workload);
  return applicableRule(ruleCandidates(q, destination, client), client);
}

/** Returns the client's answers, each of which is a fact that is asked. */
function askingClient(q: QueryContext): RuleClient {
  return {
    inNamespace: (name) => q.ask(inNamespace, name),
    matchesLabels: (labels) => q.ask(matchesLabels, labels),
  };
}

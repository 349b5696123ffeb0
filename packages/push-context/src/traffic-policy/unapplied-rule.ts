import type { DestinationRuleObject } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { mesh, rootNamespace } from "../mesh/mesh-config.js";
import { exportScope, isExportedTo } from "../visibility/export-to.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { isWildcard } from "./host-pattern.js";
import type { Destination } from "./rule-candidates.js";

/** Settings by which the lookup of rules is explained. */
export interface RuleLookupSettings {
  readonly root: string;
  readonly privateByDefault: boolean;
}

/** Returns the settings of the mesh. */
export function ruleLookupSettings(q: QueryContext): RuleLookupSettings {
  return { root: rootNamespace(q), privateByDefault: mesh(q).defaultDestinationRuleExportTo.includes(".") };
}

/** A client for which a rule is explained. */
export interface ExplainedClient {
  readonly namespace: string;
  readonly selectedBy: (labels: Readonly<Record<string, string>>) => boolean;
}

/**
 * Explains why a rule does not apply to a client for a host. Checks in the order of the lookup
 * (pilot/pkg/model/push_context.go, destinationRule).
 *
 * @param applied the rule that applies instead, if any
 */
export function reasonUnapplied(
  { root, privateByDefault }: RuleLookupSettings,
  { namespace, spec }: DestinationRuleObject,
  { host, serviceNamespace }: Destination,
  client: ExplainedClient,
  applied: ConsolidatedRule | undefined,
): string {
  if (namespace !== client.namespace && spec.workloadSelector !== undefined)
    return "has a workloadSelector, which limits it to clients in its own namespace";
  const declared = spec.exportTo.length > 0 || !privateByDefault ? spec.exportTo : ["."];
  if (!isExportedTo(exportScope(declared, namespace), client.namespace))
    return `is not exported to namespace ${client.namespace}`;
  if (![client.namespace, serviceNamespace, root].includes(namespace))
    return `is in namespace ${namespace}, which is neither the client's, nor the service's, nor the root namespace`;
  if (!client.selectedBy(spec.workloadSelector?.matchLabels ?? {}))
    return "has a workloadSelector that does not select the client";
  if (applied === undefined) return `does not apply to ${host}`;
  const overridden = `is overridden by DestinationRule ${applied.namespace}/${applied.name}`;
  if (applied.namespace !== namespace)
    return `${overridden}: rules in the client's namespace take precedence over the service's namespace, then the root namespace`;
  if (wildcardBreadth(host, spec.host) > wildcardBreadth(host, applied.spec.host))
    return `${overridden}, whose host ${applied.spec.host} is more specific than ${spec.host}`;
  if (applied.spec.workloadSelector !== undefined) return `${overridden}, whose workloadSelector selects the client`;
  return `${overridden}, which takes precedence by age and name and is not merged with it`;
}

/** Number of characters of a host that a wildcard matches, plus one; 0 for an exact host or a short name. */
function wildcardBreadth(host: string, pattern: string): number {
  return isWildcard(pattern) && pattern !== host ? host.length + 1 - pattern.length : 0;
}

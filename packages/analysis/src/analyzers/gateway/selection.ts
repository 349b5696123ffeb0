import type { GatewayObject } from "@istiod/config-schema";
import type { AnalysisContext } from "../../analyzer.js";
import { explainMissingPods, formatSelector, type PodProfile, selectedPods } from "../../queries/pods.js";

/**
 * Returns the pods that a Gateway selects, in any namespace. Reports if there are none, with the same message in every
 * analyzer.
 */
export function podsOfGateway(
  { spec: { selector } }: GatewayObject,
  { q, report }: AnalysisContext,
): readonly PodProfile[] {
  const selected = q.call(selectedPods, { labels: selector });
  if (selected.length > 0) return selected;
  const path = ["spec", "selector", ...Object.keys(selector).sort().slice(0, 1)];
  report(
    "IST0101",
    path,
    `referenced selector ${JSON.stringify(formatSelector(selector))} not found: ${explainMissingPods(q, { labels: selector })}`,
  );
  return [];
}

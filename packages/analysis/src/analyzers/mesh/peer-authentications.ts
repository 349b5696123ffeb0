import {
  peerAuthenticationKind,
  type PeerAuthenticationObject,
  peerAuthentications,
  peerAuthenticationsByNamespace,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { formatSelector } from "../../queries/pods.js";

export const peerAuthenticationAnalyzer: Analyzer = {
  name: "mesh.PeerAuthenticationAnalyzer",
  description: "Checks for PeerAuthentications that an older one of the same selector overrides",
  codes: ["MESH0042"],
  rules: [rule(peerAuthenticationKind, peerAuthentications, checkOlder)],
};

/** Reports a policy that never applies: of those that select a workload, the oldest one applies. */
function checkOlder(own: PeerAuthenticationObject, { q, report }: AnalysisContext): void {
  const selector = selectorOf(own);
  const [oldest] = q
    .read(peerAuthenticationsByNamespace, own.namespace)
    .filter((other) => selectorOf(other) === selector)
    .sort((a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1));
  if (oldest === undefined || oldest.name === own.name) return;
  const what = selector === "" ? "without a selector" : `for ${selector}`;
  report(
    "MESH0042",
    ["spec"],
    `the policy has no effect: of the PeerAuthentications of namespace ${own.namespace} ${what}, only the oldest applies, ${oldest.name}; merge the two`,
  );
}

function selectorOf({ spec }: PeerAuthenticationObject): string {
  return formatSelector(spec.selector?.matchLabels ?? {});
}

import { fact, type FactContext } from "@istiod/incremental";
import { verifiedLabels } from "@istiod/service-discovery";
import { type Labels, selectorMatches } from "./labels.js";
import type { Proxy } from "./proxy.js";
import { identityOf } from "./service-targets.js";

/**
 * Reports whether a Pod or WorkloadEntry is known that the client's authenticated identity may be. Node metadata, which
 * the client chooses, must agree with it.
 */
export const isVerifiedWorkload = fact(
  "isVerifiedWorkload",
  (proxy: Proxy, _: undefined, q: FactContext) => labelsOfVerified(proxy, q) !== undefined,
);

/** Reports whether that Pod or WorkloadEntry has all labels of a selector. Labels in node metadata do not count. */
export const verifiedMatchesLabels = fact("verifiedMatchesLabels", (proxy: Proxy, selector: Labels, q: FactContext) => {
  const labels = labelsOfVerified(proxy, q);
  return labels !== undefined && selectorMatches(selector, labels);
});

function labelsOfVerified(proxy: Proxy, q: FactContext): Labels | undefined {
  const { verifiedIdentity } = proxy;
  if (verifiedIdentity === undefined || verifiedIdentity.namespace !== proxy.namespace) return undefined;
  return verifiedLabels(q, identityOf(proxy), verifiedIdentity.serviceAccount);
}

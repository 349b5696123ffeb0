import {
  type FieldPath,
  gateways,
  requestAuthenticationsByNamespace,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { meshGateway, rootNamespace } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { formatSelector, type PodProfile, selectedPods } from "../../queries/pods.js";
import { gatewayKey } from "./gateways.js";

export const jwtClaimRouteAnalyzer: Analyzer = {
  name: "virtualservice.JWTClaimRouteAnalyzer",
  description: "Checks that gateways of routes that match JWT claims have a RequestAuthentication",
  codes: ["IST0149"],
  rules: [rule(virtualServiceKind, virtualServices, checkClaimRoutes)],
};

function checkClaimRoutes({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  const claim = firstClaim(spec);
  if (claim === undefined) return;
  for (const name of spec.gateways) {
    if (name === meshGateway) continue;
    const key = gatewayKey(name, namespace);
    const selector = q.read(gateways, key)?.spec.selector;
    if (selector === undefined) continue;
    const open = q.call(podsWithoutRequestAuthentication, { labels: selector })[0];
    if (open === undefined) continue;
    const pods = `namespace ${open.namespace} (${formatSelector(selector)})`;
    report(
      "IST0149",
      claim.path,
      `route matches JWT claim ${JSON.stringify(claim.header)}, but no RequestAuthentication applies to the pods of gateway ${JSON.stringify(key)} in ${pods}, so the claim is never set; create one that selects them`,
    );
  }
}

interface ClaimMatch {
  /** The header that represents a claim, such as `@request.auth.claims.sub`. */
  readonly header: string;
  readonly path: FieldPath;
}

/** Returns the first match of a JWT claim. */
function firstClaim({ http }: VirtualService): ClaimMatch | undefined {
  for (const [i, { match }] of http.entries()) {
    for (const [j, { headers, withoutHeaders }] of match.entries()) {
      for (const [field, matches] of Object.entries({ headers, withoutHeaders })) {
        const header = Object.keys(matches).sort().find(isClaim);
        if (header !== undefined) return { header, path: ["spec", "http", i, "match", j, field, header] };
      }
    }
  }
  return undefined;
}

/** Reports whether a header represents a claim: `@request.auth.claims` with `.name` or `[name]`. */
function isClaim(header: string): boolean {
  return /^@request\.auth\.claims(\..|\[.+\]$)/i.test(header);
}

/** The pods in all namespaces that a selector matches and no RequestAuthentication applies to. */
const podsWithoutRequestAuthentication = query(
  "podsWithoutRequestAuthentication",
  (q, selector: { readonly labels: Readonly<Record<string, string>> }): readonly PodProfile[] =>
    q.call(selectedPods, selector).filter(({ namespace, labels }) => {
      const policies = [rootNamespace(q), namespace].flatMap((of) => q.read(requestAuthenticationsByNamespace, of));
      return !policies.some(({ spec }) => hasLabels(labels, spec.selector?.matchLabels ?? {}));
    }),
);

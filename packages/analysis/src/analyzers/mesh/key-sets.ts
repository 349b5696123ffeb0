import { isIP } from "node:net";
import {
  requestAuthenticationKind,
  type RequestAuthenticationObject,
  requestAuthentications,
} from "@istiod/config-schema";
import type { JWTRule } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { AddressRules, describeSource } from "@istiod/jwks";
import { features, type JwksProblem, jwksProblems } from "@istiod/push-context";
import { misspelledService } from "../../queries/destination-hosts.js";
import { quotedNearest } from "../../suggestions.js";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const keySetAnalyzer: Analyzer = {
  name: "mesh.KeySetAnalyzer",
  description: "Checks that the keys of RequestAuthentications are available",
  codes: ["IST0101", "MESH0019", "MESH0021"],
  rules: [
    rule(requestAuthenticationKind, requestAuthentications, checkServices),
    rule(requestAuthenticationKind, requestAuthentications, (_, { q, key, report }) => {
      for (const problem of q.call(jwksProblems, key)) {
        const { index, rule: jwtRule, isMissing } = problem;
        const finding = isMissing ? missing(problem) : stale(problem);
        const path = ["spec", "jwtRules", index, jwtRule.jwksUri === "" ? "issuer" : "jwksUri"];
        if (finding !== undefined) report(isMissing ? "MESH0019" : "MESH0021", path, finding);
      }
    }),
  ],
};

/**
 * Reports URIs of keys at Services that do not exist, with a name similar to one that does. Istiod looks hosts up in
 * DNS, which also has Services that istiod does not discover, and pods of headless Services.
 */
function checkServices({ spec }: RequestAuthenticationObject, { q, report }: AnalysisContext): void {
  const domain = features.domainSuffix(q);
  for (const [i, { jwksUri }] of spec.jwtRules.entries()) {
    if (!URL.canParse(jwksUri)) continue;
    const { hostname } = new URL(jwksUri);
    const host = hostname.endsWith(".svc") ? `${hostname}.${domain}` : hostname;
    const misspelled = misspelledService(q, host);
    if (misspelled === undefined) continue;
    const { namespace, name, near } = misspelled;
    report(
      "IST0101",
      ["spec", "jwtRules", i, "jwksUri"],
      `referenced Service ${namespace}/${name} not found, so that keys cannot be fetched${quotedNearest(near)}`,
      "Warning",
    );
  }
}

/** Returns the finding about keys that are missing; undefined if nothing says that they cannot be fetched. */
function missing({ rule, fetch }: JwksProblem): string | undefined {
  const [source, issuer] = [describeSource(rule), JSON.stringify(rule.issuer)];
  if (fetch?.state === "fetching")
    return `waiting for the keys of ${source}; until they are fetched, every token of issuer ${issuer} is rejected`;
  const reason = fetch?.reason ?? unreachableReason(rule);
  return (
    reason && `the keys of ${source} cannot be fetched, so that every token of issuer ${issuer} is rejected: ${reason}`
  );
}

function stale({ rule, fetch }: JwksProblem): string | undefined {
  if (fetch?.state !== "stale") return undefined;
  return `the keys of ${describeSource(rule)} are those of ${fetch.fetchedAt}, because they cannot be refreshed: ${fetch.reason}`;
}

const rules = new AddressRules();

/** Returns the reason why keys can never be fetched, if the rule alone shows it. */
function unreachableReason({ issuer, jwksUri }: JWTRule): string | undefined {
  const uri = jwksUri === "" ? issuer : jwksUri;
  if (!/^https?:\/\//i.test(uri) || !URL.canParse(uri))
    return jwksUri === ""
      ? "the issuer is no URL, so that its keys cannot be discovered; set jwksUri or jwks"
      : undefined;
  const address = new URL(uri).hostname.replace(/^\[|\]$/g, "");
  const reason = isIP(address) === 0 ? undefined : rules.blockedReason(address);
  return reason && `${address} ${reason}`;
}

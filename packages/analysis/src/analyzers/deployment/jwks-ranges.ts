import { requestAuthentications, type WorkloadObject } from "@istiod/config-schema";
import type { AnalysisContext } from "../../analyzer.js";
import { listNames } from "../../suggestions.js";

const variable = "BLOCKED_CIDRS_IN_JWKS_URIS";

/** Reports an istiod that fetches the JWKS of RequestAuthentications from any address. */
export function checkJwksRanges({ labels, spec }: WorkloadObject, { q, report }: AnalysisContext): void {
  if (labels["app"] !== "istiod" || spec.containers.some(({ init, env }) => !init && env?.[variable] !== undefined))
    return;
  const names = q.keys(requestAuthentications);
  if (names.length === 0) return;
  report(
    "IST0175",
    ["spec", "template", "spec", "containers"],
    `istiod fetches JWKS URIs of ${names.length} RequestAuthentication(s) (${listNames(names)}) without restriction; set ${variable} to the address ranges that it must not reach`,
  );
}

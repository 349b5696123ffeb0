import type { CorsPolicy } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkDuration, formatDuration } from "../../../validation/durations.js";
import { each, type Place } from "../../../validation/place.js";
import { warnOfCors } from "./cors-warnings.js";
import { checkRegexMatch } from "./string-match.js";

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "*"];
const headerName = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/;

export function checkCorsPolicy(policy: CorsPolicy | undefined, place: Place): void {
  if (policy === undefined) return;
  each(policy.allowOrigins, place.at("allowOrigins"), (origin, at) => {
    if ((origin.matchType.value ?? "") === "")
      at.error("matches nothing, expected exact, prefix or regex with a value");
    else checkRegexMatch(origin, at);
  });
  warnOfCors(policy, place);
  each(policy.allowMethods, place.at("allowMethods"), (method, at) => {
    if (!methods.includes(method)) at.error(`is ${JSON.stringify(method)}, expected one of ${methods.join(", ")}`);
  });
  for (const field of ["allowHeaders", "exposeHeaders"] as const) {
    each(policy[field], place.at(field), (name, at) => {
      if (!headerName.test(name)) at.error(`is ${JSON.stringify(name)}, expected the name of a header or *`);
    });
  }
  if (policy.maxAge === undefined) return;
  checkDuration(policy.maxAge, place.at("maxAge"));
  if (policy.maxAge.nanos > 0) place.at("maxAge").error(`is ${formatDuration(policy.maxAge)}, expected whole seconds`);
}

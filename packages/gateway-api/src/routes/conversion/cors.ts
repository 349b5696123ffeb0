import { create } from "@bufbuild/protobuf";
import type { CorsFilter } from "@istiod/config-schema";
import {
  type CorsPolicy,
  CorsPolicy_UnmatchedPreflights as UnmatchedPreflights,
  CorsPolicySchema,
  type StringMatch,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { duration, stringMatch } from "./messages.js";

/** Returns the CORS policy of a filter. Preflight requests of other origins are forwarded to no backend. */
export function corsPolicy(filter: CorsFilter): CorsPolicy {
  return create(CorsPolicySchema, {
    allowOrigins: filter.allowOrigins.filter((origin) => origin !== "").map(originMatch),
    ...(filter.allowCredentials === true && { allowCredentials: true }),
    allowMethods: [...filter.allowMethods],
    allowHeaders: [...filter.allowHeaders],
    exposeHeaders: [...filter.exposeHeaders],
    maxAge: duration(filter.maxAge * 1000),
    unmatchedPreflights: UnmatchedPreflights.IGNORE,
  });
}

/** Any origin (RFC 6454): a scheme, a host and perhaps a port. */
const anyOrigin = "^[a-zA-Z][a-zA-Z0-9+.-]*://[^/\\s?#]+$";

function originMatch(origin: string): StringMatch {
  if (origin === "*") return stringMatch("regex", anyOrigin);
  const star = origin.indexOf("*");
  if (star < 0) return stringMatch("exact", origin);
  if (star === origin.length - 1) return stringMatch("prefix", origin.slice(0, -1));
  const parts = origin.split("*").map((part) => part.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&"));
  return stringMatch("regex", `^${parts.join(".*")}$`);
}

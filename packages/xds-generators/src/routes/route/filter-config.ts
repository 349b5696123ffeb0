import { create } from "@bufbuild/protobuf";
import { grpcStatuses } from "@istiod/config-schema";
import { FaultDelaySchema } from "@istiod/envoy-api/envoy/extensions/filters/common/fault/v3/fault";
import {
  type CorsPolicy as EnvoyCorsPolicy,
  CorsPolicySchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/cors/v3/cors";
import {
  FaultAbortSchema,
  type HTTPFault,
  HTTPFaultSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/fault/v3/fault";
import {
  type CorsPolicy,
  CorsPolicy_UnmatchedPreflights,
  type HTTPFaultInjection,
  type HTTPFaultInjection_Abort,
  type HTTPFaultInjection_Delay,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { fractionalPercent, runtimePercent, wholePercent } from "../../envoy/percent.js";
import { exactMatcher } from "../../envoy/string-matcher.js";
import { toStringMatcher } from "./istio-string-match.js";

export const faultFilter = "envoy.filters.http.fault";
export const corsFilter = "envoy.filters.http.cors";

/** Returns the fault filter's configuration for a route; empty if there is no supported delay or abort. */
export function faultConfig({ delay, abort }: HTTPFaultInjection): HTTPFault {
  const [envoyDelay, envoyAbort] = [delay && delayConfig(delay), abort && abortConfig(abort)];
  return create(HTTPFaultSchema, {
    ...(envoyDelay && { delay: envoyDelay }),
    ...(envoyAbort && { abort: envoyAbort }),
  });
}

function delayConfig({ httpDelayType, percentage, percent }: HTTPFaultInjection_Delay) {
  return httpDelayType.case === "fixedDelay"
    ? create(FaultDelaySchema, {
        percentage: percentage === undefined ? wholePercent(percent) : fractionalPercent(percentage.value),
        faultDelaySecifier: { case: "fixedDelay", value: httpDelayType.value },
      })
    : undefined;
}

function abortConfig({ errorType, percentage }: HTTPFaultInjection_Abort) {
  const share = percentage === undefined ? {} : { percentage: fractionalPercent(percentage.value) };
  switch (errorType.case) {
    case "httpStatus":
      return create(FaultAbortSchema, { ...share, errorType: { case: "httpStatus", value: errorType.value } });
    case "grpcStatus":
      return create(FaultAbortSchema, {
        ...share,
        errorType: { case: "grpcStatus", value: Math.max(0, grpcStatuses.indexOf(errorType.value)) },
      });
    default:
      return undefined;
  }
}

/** Returns the CORS filter's configuration for a route. */
export function corsConfig(policy: CorsPolicy): EnvoyCorsPolicy {
  const origins =
    policy.allowOrigins.length > 0
      ? policy.allowOrigins.map(toStringMatcher)
      : policy.allowOrigin.map((origin) => exactMatcher(origin));
  return create(CorsPolicySchema, {
    allowOriginStringMatch: origins.filter((origin) => origin !== undefined),
    allowMethods: policy.allowMethods.join(","),
    allowHeaders: policy.allowHeaders.join(","),
    exposeHeaders: policy.exposeHeaders.join(","),
    ...(policy.maxAge === undefined ? {} : { maxAge: String(policy.maxAge.seconds) }),
    ...(policy.allowCredentials === undefined ? {} : { allowCredentials: policy.allowCredentials }),
    forwardNotMatchingPreflights: policy.unmatchedPreflights !== CorsPolicy_UnmatchedPreflights.IGNORE,
    filterEnabled: runtimePercent(wholePercent(100)),
  });
}

import { STATUS_CODES } from "node:http";
import type { HTTPRetry } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkOptionalDuration } from "../durations.js";
import { checkNotNegative } from "../numbers.js";
import type { Place } from "../place.js";

/** Conditions of Envoy's `x-envoy-retry-on` and `x-envoy-retry-grpc-on`. */
const conditions = new Set([
  "5xx",
  "gateway-error",
  "reset",
  "reset-before-request",
  "connect-failure",
  "retriable-4xx",
  "refused-stream",
  "retriable-status-codes",
  "retriable-headers",
  "envoy-ratelimited",
  "http3-post-connect-failure",
  "cancelled",
  "deadline-exceeded",
  "internal",
  "resource-exhausted",
  "unavailable",
]);

/** Returns a condition of retries that proxies ignore; undefined if they know all. */
export function unknownRetryCondition(retryOn: string): string | undefined {
  return retryOn === "" ? undefined : retryOn.split(",").find((condition) => !isCondition(condition));
}

function isCondition(condition: string): boolean {
  const isStatus = /^[+-]?\d+$/.test(condition) && STATUS_CODES[Number(condition)] !== undefined;
  return isStatus || conditions.has(condition);
}

export function checkHttpRetry(retries: HTTPRetry | undefined, place: Place): void {
  if (retries === undefined) return;
  checkNotNegative(retries.attempts, place.at("attempts"));
  if (
    retries.attempts === 0 &&
    (retries.perTryTimeout !== undefined || retries.retryOn !== "" || retries.retryRemoteLocalities !== undefined)
  ) {
    place.at("attempts").error("is 0, which disables retries, expected no other field");
  }
  checkOptionalDuration(retries.perTryTimeout, place.at("perTryTimeout"));
  if (retries.retryOn !== "") {
    for (const condition of retries.retryOn.split(",")) {
      if (!isCondition(condition))
        place
          .at("retryOn")
          .error(`has ${JSON.stringify(condition)}, expected an HTTP status or one of ${[...conditions].join(", ")}`);
    }
  }
  warnOfLists(retries.retryOn.split(","), place.at("retryOn"));
  checkOptionalDuration(retries.backoff, place.at("backoff"));
}

/** Warns of conditions that need a list, of statuses or headers, which is empty. */
function warnOfLists(named: readonly string[], place: Place): void {
  if (named.includes("retriable-status-codes") && !named.some((condition) => /^\d+$/.test(condition)))
    place.warning(
      "has retriable-status-codes, which has no effect without statuses, expected also statuses such as 503",
      "no-effect",
    );
  if (named.includes("retriable-headers"))
    place.warning(
      "has retriable-headers, which has no effect: a VirtualService names no headers, expected another condition",
      "no-effect",
    );
}

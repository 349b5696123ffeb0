import { create } from "@bufbuild/protobuf";
import {
  type RetryPolicy,
  type RetryPolicy_RetryHostPredicate,
  RetryPolicy_RetryHostPredicateSchema,
  RetryPolicySchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { PreviousHostsPredicateSchema } from "@istiod/envoy-api/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts";
import { PreviousPrioritiesConfigSchema } from "@istiod/envoy-api/envoy/extensions/retry/priority/previous_priorities/v3/previous_priorities_config";
import type { HTTPRetry } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { packAny } from "../../envoy/any.js";

const outboundConditions = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";
const inboundConditions = "reset-before-request";
const defaultAttempts = 2;
const hostSelectionAttempts = 5n;
const remoteLocalityUpdateFrequency = 2;

/**
 * Returns the retry policy of outbound requests: as configured, by default two retries where the request cannot have
 * been processed. With a consistent hash, hosts that failed are not avoided. Undefined if retries are disabled. Source:
 * pilot/pkg/networking/core/route/retry.
 */
export function outboundRetryPolicy(policy: HTTPRetry | undefined, consistentHash: boolean): RetryPolicy | undefined {
  if (policy !== undefined && policy.attempts <= 0) {
    return undefined;
  }
  const avoidsPreviousHosts = policy?.retryIgnorePreviousHosts ?? !consistentHash;
  return create(RetryPolicySchema, {
    numRetries: policy?.attempts ?? defaultAttempts,
    hostSelectionRetryMaxAttempts: hostSelectionAttempts,
    retryHostPredicate: avoidsPreviousHosts ? [previousHosts] : [],
    ...retryConditions(policy?.retryOn ?? "", outboundConditions),
    ...(policy?.perTryTimeout === undefined ? {} : { perTryTimeout: policy.perTryTimeout }),
    ...(policy?.backoff === undefined ? {} : { retryBackOff: { baseInterval: policy.backoff } }),
    ...(policy?.retryRemoteLocalities === true
      ? {
          retryPriority: {
            name: "envoy.retry_priorities.previous_priorities",
            configType: {
              case: "typedConfig" as const,
              value: packAny(PreviousPrioritiesConfigSchema, { updateFrequency: remoteLocalityUpdateFrequency }),
            },
          },
        }
      : {}),
  });
}

/**
 * Returns the retry policy of requests to the client's own workload: as the mesh configures, by default two retries if
 * the request was reset before it was sent. There is a single host, so only attempts, conditions and backoff apply.
 */
export function inboundRetryPolicy(policy: HTTPRetry | undefined): RetryPolicy | undefined {
  if (policy !== undefined && policy.attempts <= 0) {
    return undefined;
  }
  return create(RetryPolicySchema, {
    numRetries: policy?.attempts ?? defaultAttempts,
    ...retryConditions(policy?.retryOn ?? "", inboundConditions),
    ...(policy?.backoff === undefined ? {} : { retryBackOff: { baseInterval: policy.backoff } }),
  });
}

const previousHosts: RetryPolicy_RetryHostPredicate = create(RetryPolicy_RetryHostPredicateSchema, {
  name: "envoy.retry_host_predicates.previous_hosts",
  configType: { case: "typedConfig", value: packAny(PreviousHostsPredicateSchema) },
});

/** Splits conditions and status codes, which Istio lists together. */
function retryConditions(
  retryOn: string,
  fallback: string,
): { readonly retryOn: string; readonly retriableStatusCodes?: number[] } {
  if (retryOn === "") {
    return { retryOn: fallback };
  }
  const parts = retryOn
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const codes = parts.filter(isHttpStatus);
  const words = parts.filter((part) => !isHttpStatus(part)).join(",");
  const needsCodes = codes.length > 0 && !words.includes("retriable-status-codes");
  return { retryOn: needsCodes ? `${words},retriable-status-codes` : words, retriableStatusCodes: codes.map(Number) };
}

/** Status code ranges registered with IANA. */
const statusRanges: readonly (readonly [number, number])[] = [
  [100, 103],
  [200, 208],
  [226, 226],
  [300, 305],
  [307, 308],
  [400, 418],
  [421, 426],
  [428, 429],
  [431, 431],
  [451, 451],
  [500, 508],
  [510, 511],
];

function isHttpStatus(text: string): boolean {
  const code = Number(text);
  return /^[+-]?\d+$/.test(text) && statusRanges.some(([from, to]) => from <= code && code <= to);
}

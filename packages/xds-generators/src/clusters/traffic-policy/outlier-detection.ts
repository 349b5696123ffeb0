import { create } from "@bufbuild/protobuf";
import { Cluster_CommonLbConfigSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import {
  type OutlierDetection as EnvoyOutlierDetection,
  OutlierDetectionSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/outlier_detection";
import { type MatchPredicate, MatchPredicateSchema } from "@istiod/envoy-api/envoy/config/common/matcher/v3/matcher";
import { HttpProtocolOptions_OutlierDetectionSchema } from "@istiod/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options";
import { PercentSchema } from "@istiod/envoy-api/envoy/type/v3/percent";
import type { OutlierDetection } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { exactMatcher } from "../../envoy/string-matcher.js";
import { type ClusterDraft, httpOptions } from "../cluster-draft.js";

/**
 * Applies outlier detection. Without `minHealthPercent`, Envoy's panic threshold is disabled: with the few endpoints
 * that services have, panic would send to unhealthy ones. It is also disabled if unhealthy endpoints are sent. Source:
 * DestinationRule, `OutlierDetection`.
 */
export function applyOutlierDetection(
  draft: ClusterDraft,
  settings: OutlierDetection | undefined,
  sendsUnhealthyEndpoints: boolean,
): void {
  if (settings === undefined) return;
  draft.cluster.outlierDetection = outlierDetection(settings);
  if (settings.minHealthPercent >= 0) {
    draft.cluster.commonLbConfig ??= create(Cluster_CommonLbConfigSchema);
    draft.cluster.commonLbConfig.healthyPanicThreshold = create(PercentSchema, {
      value: sendsUnhealthyEndpoints ? 0 : settings.minHealthPercent,
    });
  }
  const codes = settings.outlierDetectionHttpErrorCodes;
  if (codes.length > 0) {
    httpOptions(draft).outlierDetection = create(HttpProtocolOptions_OutlierDetectionSchema, {
      errorMatcher: matchStatusCodes(codes),
    });
  }
}

function outlierDetection(settings: OutlierDetection): EnvoyOutlierDetection {
  const out = create(OutlierDetectionSchema, { enforcingSuccessRate: 0 });
  const { consecutive5xxErrors, consecutiveGatewayErrors, consecutiveLocalOriginFailures } = settings;
  if (consecutive5xxErrors !== undefined) {
    out.consecutive5xx = consecutive5xxErrors;
    out.enforcingConsecutive5xx = consecutive5xxErrors > 0 ? 100 : 0;
  }
  if (consecutiveGatewayErrors !== undefined) {
    out.consecutiveGatewayFailure = consecutiveGatewayErrors;
    out.enforcingConsecutiveGatewayFailure = consecutiveGatewayErrors > 0 ? 100 : 0;
  }
  applyFailurePercentage(out, settings);
  if (settings.interval !== undefined) out.interval = settings.interval;
  if (settings.baseEjectionTime !== undefined) out.baseEjectionTime = settings.baseEjectionTime;
  if (settings.maxEjectionPercent > 0) out.maxEjectionPercent = settings.maxEjectionPercent;
  if (settings.splitExternalLocalOriginErrors) {
    out.splitExternalLocalOriginErrors = true;
    if (consecutiveLocalOriginFailures !== undefined && consecutiveLocalOriginFailures > 0) {
      out.consecutiveLocalOriginFailure = consecutiveLocalOriginFailures;
      out.enforcingConsecutiveLocalOriginFailure = 100;
    }
    out.enforcingLocalOriginSuccessRate = 0;
  }
  return out;
}

/** Enforces the failure percentage, which Envoy by default only detects. */
function applyFailurePercentage(
  out: EnvoyOutlierDetection,
  { failurePercentageThreshold: threshold = 0, splitExternalLocalOriginErrors }: OutlierDetection,
): void {
  if (threshold === 0) return;
  out.failurePercentageThreshold = threshold;
  out.enforcingFailurePercentage = 100;
  if (splitExternalLocalOriginErrors) out.enforcingFailurePercentageLocalOrigin = 100;
}

function matchStatusCodes(codes: readonly number[]): MatchPredicate {
  const rules = codes.map((code) =>
    create(MatchPredicateSchema, {
      rule: {
        case: "httpResponseHeadersMatch",
        value: {
          headers: [
            { name: ":status", headerMatchSpecifier: { case: "stringMatch", value: exactMatcher(String(code)) } },
          ],
        },
      },
    }),
  );
  const [only] = rules;
  return only !== undefined && rules.length === 1
    ? only
    : create(MatchPredicateSchema, { rule: { case: "orMatch", value: { rules } } });
}

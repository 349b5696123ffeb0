import type { OutlierDetection } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkOptionalDuration } from "../durations.js";
import { checkPercent } from "../numbers.js";
import type { Place } from "../place.js";

export function checkOutlierDetection(outlier: OutlierDetection | undefined, place: Place): void {
  if (outlier === undefined) return;
  checkOptionalDuration(outlier.baseEjectionTime, place.at("baseEjectionTime"));
  checkOptionalDuration(outlier.interval, place.at("interval"));
  if (outlier.consecutiveErrors !== 0)
    place.at("consecutiveErrors").warning("is deprecated, expected consecutiveGatewayErrors or consecutive5xxErrors");
  if (!outlier.splitExternalLocalOriginErrors && (outlier.consecutiveLocalOriginFailures ?? 0) > 0) {
    place.at("consecutiveLocalOriginFailures").error("is set, expected splitExternalLocalOriginErrors to be true");
  }
  const counts = [outlier.consecutive5xxErrors, outlier.consecutiveGatewayErrors];
  if (
    counts.every((count) => count === 0) &&
    !outlier.splitExternalLocalOriginErrors &&
    outlier.consecutiveErrors === 0
  )
    place.warning(
      "ejects nothing: consecutive5xxErrors and consecutiveGatewayErrors are 0, which disables them",
      "no-effect",
    );
  const { consecutive5xxErrors: all = 0, consecutiveGatewayErrors: ofGateway = 0 } = outlier;
  if (all > 0 && ofGateway >= all)
    place
      .at("consecutiveGatewayErrors")
      .warning(
        `is ${ofGateway}, which has no effect: consecutive5xxErrors counts the same errors and ejects after ${all}, expected fewer`,
        "no-effect",
      );
  checkPercent(outlier.failurePercentageThreshold ?? 0, place.at("failurePercentageThreshold"));
  checkPercent(outlier.maxEjectionPercent, place.at("maxEjectionPercent"));
  checkPercent(outlier.minHealthPercent, place.at("minHealthPercent"));
}

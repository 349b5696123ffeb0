import type { Duration } from "@bufbuild/protobuf/wkt";
import type { LoadBalancerSettings_BackendUtilizationLB as BackendUtilization } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkOptionalDuration, formatDuration, nanoseconds } from "../durations.js";
import { each, type Place } from "../place.js";

/** Minimum of Envoy, which it uses in place of shorter periods. */
const minWeightUpdatePeriod = 100_000_000n;

export function checkBackendUtilization(utilization: BackendUtilization, place: Place): void {
  const { weightStabilizationPeriod, weightExpirationPeriod, weightUpdatePeriod } = utilization;
  checkPeriod(weightStabilizationPeriod, place.at("weightStabilizationPeriod"));
  checkPeriod(weightExpirationPeriod, place.at("weightExpirationPeriod"));
  checkOptionalDuration(weightUpdatePeriod, place.at("weightUpdatePeriod"));
  if (weightUpdatePeriod !== undefined && nanoseconds(weightUpdatePeriod) < minWeightUpdatePeriod)
    place.at("weightUpdatePeriod").warning(`is ${formatDuration(weightUpdatePeriod)}, at least 100ms are used`);
  each(utilization.metricNamesForComputingUtilization, place.at("metricNamesForComputingUtilization"), (name, at) => {
    if (name === "") at.error("is empty, expected the name of a metric, such as cpu_utilization");
  });
}

/** Checks a period that may be zero, if it is set. */
function checkPeriod(period: Duration | undefined, place: Place): void {
  if (nanoseconds(period) !== 0n) checkOptionalDuration(period, place);
}

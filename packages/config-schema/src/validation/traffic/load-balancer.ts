import {
  type LoadBalancerSettings,
  LoadBalancerSettings_SimpleLB as Simple,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkDuration, checkOptionalDuration } from "../durations.js";
import { checkBackendUtilization } from "./backend-utilization.js";
import { checkConsistentHash } from "./consistent-hash.js";
import { checkLocalityLb, checkZoneAwareLb } from "./locality.js";
import { checkPercent } from "../numbers.js";
import type { Place } from "../place.js";

export function checkLoadBalancer(
  settings: LoadBalancerSettings | undefined,
  hasOutlierDetection: boolean,
  place: Place,
): void {
  if (settings === undefined) return;
  if (settings.lbPolicy.case === "consistentHash")
    checkConsistentHash(settings.lbPolicy.value, place.at("consistentHash"));
  if (settings.lbPolicy.case === "backendUtilization")
    checkBackendUtilization(settings.lbPolicy.value, place.at("backendUtilization"));
  if (settings.localityLbSetting !== undefined && settings.zoneAwareLbSetting !== undefined) {
    place.at("zoneAwareLbSetting").error("is set together with localityLbSetting, expected only one of them");
  }
  checkLocalityLb(settings.localityLbSetting, hasOutlierDetection, place.at("localityLbSetting"));
  checkZoneAwareLb(settings.zoneAwareLbSetting, hasOutlierDetection, place.at("zoneAwareLbSetting"));
  checkOptionalDuration(settings.warmupDurationSecs, place.at("warmupDurationSecs"));
  const { warmup, warmupDurationSecs } = settings;
  const field = warmup !== undefined ? "warmup" : "warmupDurationSecs";
  if (warmup !== undefined || warmupDurationSecs !== undefined) warnOfWarmup(settings, place.at(field));
  if (warmup === undefined) return;
  checkDuration(warmup.duration, place.at("warmup", "duration"));
  const { minimumPercent, aggression } = warmup;
  if (minimumPercent !== undefined) checkPercent(minimumPercent, place.at("warmup", "minimumPercent"));
  if (aggression !== undefined && !(aggression > 0 && Number.isFinite(aggression)))
    place.at("warmup", "aggression").error(`is ${aggression}, expected more than 0`);
}

/** Warns of warmup of a load balancer that has none: only ROUND_ROBIN and LEAST_REQUEST start endpoints slowly. */
function warnOfWarmup({ lbPolicy }: LoadBalancerSettings, place: Place): void {
  const isSlow =
    lbPolicy.case === "simple" && (lbPolicy.value === Simple.RANDOM || lbPolicy.value === Simple.PASSTHROUGH);
  const other = isSlow ? Simple[lbPolicy.value as Simple] : lbPolicy.case === "simple" ? undefined : lbPolicy.case;
  if (other !== undefined)
    place.warning(`has no effect with ${other}, expected ROUND_ROBIN or LEAST_REQUEST`, "no-effect");
}

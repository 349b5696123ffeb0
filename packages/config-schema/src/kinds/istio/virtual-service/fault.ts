import type { HTTPFaultInjection, Percent } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkDuration } from "../../../validation/durations.js";
import { grpcStatuses } from "../../../validation/traffic/grpc-statuses.js";
import type { Place } from "../../../validation/place.js";

export function checkFault(fault: HTTPFaultInjection | undefined, place: Place): void {
  if (fault === undefined) return;
  const { abort, delay } = fault;
  if (abort === undefined && delay === undefined) place.error("is empty, expected abort or delay");
  if (abort !== undefined) {
    const at = place.at("abort");
    checkFraction(abort.percentage, at.at("percentage", "value"));
    const { case: kind, value } = abort.errorType;
    if (kind === undefined) at.warning("has no error, expected httpStatus or grpcStatus");
    else if (kind === "http2Error") at.at("http2Error").error("is not supported, expected httpStatus or grpcStatus");
    else if (kind === "httpStatus") checkHttpStatus(value, at.at("httpStatus"));
    else if (!grpcStatuses.includes(value))
      at.at("grpcStatus").error(`is ${JSON.stringify(value)}, expected a status such as NOT_FOUND`);
  }
  if (delay !== undefined) {
    const at = place.at("delay");
    checkFraction(delay.percentage, at.at("percentage", "value"));
    if (delay.httpDelayType.case !== undefined)
      checkDuration(delay.httpDelayType.value, at.at(delay.httpDelayType.case));
    if (delay.httpDelayType.case === "exponentialDelay")
      at.at("exponentialDelay").error("is not supported, expected fixedDelay");
  }
}

/** Checks a status code. Istio accepts 600 too, with which Envoy rejects the route configuration. */
export function checkHttpStatus(status: number, place: Place): void {
  if (status < 200 || status > 599) place.error(`is ${status}, expected 200 to 599`);
}

/** Checks a percentage: 0, or at least 0.0001. */
function checkFraction(percentage: Percent | undefined, place: Place): void {
  const value = percentage?.value ?? 0;
  if (!(value === 0 || (value >= 0.0001 && value <= 100))) place.error(`is ${value}, expected 0, or 0.0001 to 100`);
}

import type { Duration } from "@bufbuild/protobuf/wkt";
import type { HTTPRoute, Percent } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { formatDuration } from "../../../validation/durations.js";
import type { Place } from "../../../validation/place.js";

/** Warns of valid settings of a route that change nothing. */
export function warnOfIneffectiveSettings(route: HTTPRoute, place: Place): void {
  warnOfRetries(route, place);
  warnOfFault(route, place.at("fault"));
  warnOfMirrors(route, place);
  warnOfUnforwarded(route, place);
}

function warn(place: Place, message: string): void {
  place.warning(message, "no-effect");
}

function warnOfRetries({ retries, timeout }: HTTPRoute, place: Place): void {
  if (retries === undefined) return;
  const at = place.at("retries");
  if (retries.attempts === 0) {
    for (const field of ["backoff", "retryIgnorePreviousHosts"] as const)
      if (retries[field] !== undefined) warn(at.at(field), "has no effect: attempts is 0, which disables retries");
    return;
  }
  const { perTryTimeout } = retries;
  if (perTryTimeout === undefined || timeout === undefined || seconds(timeout) === 0) return;
  if (seconds(perTryTimeout) >= seconds(timeout))
    warn(
      at.at("perTryTimeout"),
      `is ${formatDuration(perTryTimeout)}, which has no effect: the timeout of the whole request, ${formatDuration(timeout)}, ends it before a try that takes too long is repeated; expected less than timeout`,
    );
}

function seconds({ seconds: whole, nanos }: Duration): number {
  return Number(whole) + nanos / 1e9;
}

function warnOfFault({ fault }: HTTPRoute, place: Place): void {
  if (fault?.abort !== undefined) warnOfShare(fault.abort.percentage, 0, "aborted", place.at("abort"));
  if (fault?.delay === undefined) return;
  warnOfShare(fault.delay.percentage, fault.delay.percent, "delayed", place.at("delay"));
  if (fault.delay.httpDelayType.case === undefined)
    warn(place.at("delay"), "has no effect: it has no duration, expected fixedDelay");
}

function warnOfShare(percentage: Percent | undefined, deprecated: number, done: string, place: Place): void {
  if ((percentage?.value ?? deprecated) !== 0) return;
  if (percentage === undefined)
    warn(place, `has no effect: without percentage no request is ${done}, expected percentage.value up to 100`);
  else
    warn(
      place.at("percentage"),
      `is 0, so that no request is ${done}, expected percentage.value up to 100, or no ${done === "aborted" ? "abort" : "delay"}`,
    );
}

function warnOfMirrors({ mirror, mirrors, mirrorPercentage, mirrorPercent }: HTTPRoute, place: Place): void {
  const none = "is 0, so that no request is mirrored, expected up to 100, or no mirror";
  if (mirrorPercentage !== undefined) {
    if (mirror === undefined) {
      const expected = mirrors.length === 0 ? "mirror" : "mirrors[].percentage";
      warn(place.at("mirrorPercentage"), `has no effect: there is no mirror, expected also ${expected}`);
    } else if (mirrorPercentage.value === 0) warn(place.at("mirrorPercentage"), none);
  } else if (mirror !== undefined && mirrorPercent === 0) warn(place.at("mirrorPercent"), none);
  for (const [i, { percentage }] of mirrors.entries())
    if (percentage?.value === 0) warn(place.at("mirrors", i, "percentage"), none);
}

/** Warns of settings of forwarded requests on a route that answers by itself. */
function warnOfUnforwarded(route: HTTPRoute, place: Place): void {
  const answer = (["redirect", "directResponse"] as const).find((field) => route[field] !== undefined);
  if (answer === undefined) return;
  const settings = {
    timeout: route.timeout,
    retries: route.retries,
    mirror: route.mirror,
    mirrors: route.mirrors.length > 0 ? route.mirrors : undefined,
  };
  for (const [field, value] of Object.entries(settings))
    if (value !== undefined)
      warn(place.at(field), `has no effect: the route has ${answer}, so that nothing is forwarded`);
}

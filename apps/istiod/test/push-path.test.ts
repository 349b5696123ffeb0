import { pushPath } from "@istiod/istiod";
import { expect, it } from "vitest";

it("has Istio's defaults, which grow with the processors", () => {
  expect(pushPath({}, 2)).toEqual({ quietMs: 100, maxMs: 10_000, debounceEndpoints: true, concurrentPushes: 25, streamsPerSecond: 25 });
  expect(pushPath({}, 64)).toMatchObject({ concurrentPushes: 100, streamsPerSecond: 100 });
  expect(pushPath({ PILOT_PUSH_THROTTLE: "0", PILOT_MAX_REQUESTS_PER_SECOND: "0" }, 1)).toMatchObject({ concurrentPushes: 20, streamsPerSecond: 20 });
});

it("takes what the environment says", () => {
  const env = { PILOT_DEBOUNCE_AFTER: "0", PILOT_DEBOUNCE_MAX: "1m", PILOT_ENABLE_EDS_DEBOUNCE: "false", PILOT_PUSH_THROTTLE: "7", PILOT_MAX_REQUESTS_PER_SECOND: "0.5" };
  expect(pushPath(env, 2)).toEqual({ quietMs: 0, maxMs: 60_000, debounceEndpoints: false, concurrentPushes: 7, streamsPerSecond: 0.5 });
});

it.each([
  [{ PILOT_DEBOUNCE_AFTER: "soon" }, 'PILOT_DEBOUNCE_AFTER is "soon", expected a duration such as 100ms or 10s'],
  [{ PILOT_DEBOUNCE_MAX: "50ms" }, "PILOT_DEBOUNCE_MAX is 50 ms, less than PILOT_DEBOUNCE_AFTER with 100 ms"],
  [{ PILOT_PUSH_THROTTLE: "1.5" }, 'PILOT_PUSH_THROTTLE is "1.5", expected a whole number; 0 is the default'],
  [{ PILOT_MAX_REQUESTS_PER_SECOND: "-1" }, 'PILOT_MAX_REQUESTS_PER_SECOND is "-1", expected a number that is not negative; 0 is the default'],
  [{ PILOT_ENABLE_EDS_DEBOUNCE: "maybe" }, 'PILOT_ENABLE_EDS_DEBOUNCE is "maybe", expected true or false'],
])("says in a sentence what is wrong with %o", (env, message) => {
  expect(() => pushPath(env)).toThrow(message);
});

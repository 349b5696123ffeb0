import { deepEqual, equal, throws } from "node:assert/strict";
import { booleanVariable, environmentReport, environmentWarnings, integerVariable } from "@istiod/settings";

const variables = {
  throttle: integerVariable("PILOT_PUSH_THROTTLE", 15, { least: 1 }),
  debug: booleanVariable("ENABLE_DEBUG", false),
};

equal(variables.throttle.read({}), 15);
equal(variables.debug.read({ ENABLE_DEBUG: "T" }), true);
throws(() => variables.throttle.read({ PILOT_PUSH_THROTTLE: "many" }), {
  message: 'PILOT_PUSH_THROTTLE is "many", expected a whole number of 1 or more',
});

const report = environmentReport({
  env: { PILOT_PUSH_THROTLE: "7", PILOT_ENABLE_ANALYSIS: "true" },
  read: Object.values(variables).map(({ name }) => name),
  istio: ["PILOT_PUSH_THROTTLE", "PILOT_ENABLE_ANALYSIS"],
});
deepEqual(environmentWarnings(report), [
  "environment variables without effect, because what they configure is not implemented yet: PILOT_ENABLE_ANALYSIS",
  "environment variable PILOT_PUSH_THROTLE is not known; did you mean PILOT_PUSH_THROTTLE?",
]);

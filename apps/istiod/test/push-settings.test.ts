import { connectionLimits, flagDefaults, flags, pushSettings } from "@istiod/istiod";
import { expect, it } from "vitest";

it("defaults depend on the number of processors, as in Istio", () => {
  expect(pushSettings({}, 2)).toEqual({
    quietMs: 100,
    maxMs: 10_000,
    debounceEndpoints: true,
    concurrentPushes: 25,
    streamsPerSecond: 25,
  });
  expect(pushSettings({}, 64)).toMatchObject({ concurrentPushes: 100, streamsPerSecond: 100 });
  expect(pushSettings({ PILOT_PUSH_THROTTLE: "0", PILOT_MAX_REQUESTS_PER_SECOND: "0" }, 1)).toMatchObject({
    concurrentPushes: 20,
    streamsPerSecond: 20,
  });
});

it("reads the environment", () => {
  const env = {
    PILOT_DEBOUNCE_AFTER: "0",
    PILOT_DEBOUNCE_MAX: "1m",
    PILOT_ENABLE_EDS_DEBOUNCE: "false",
    PILOT_PUSH_THROTTLE: "7",
    PILOT_MAX_REQUESTS_PER_SECOND: "0.5",
  };
  expect(pushSettings(env, 2)).toEqual({
    quietMs: 0,
    maxMs: 60_000,
    debounceEndpoints: false,
    concurrentPushes: 7,
    streamsPerSecond: 0.5,
  });
});

it.each([
  ["250us", 0.25],
  ["1500µs", 1.5],
  [".5s", 500],
  ["1.5m", 90_000],
  ["1h0m0.25s", 3_600_250],
  ["+2s", 2000],
  ["-1s", 0],
  ["0", 0],
  ["0s", 0],
])("reads durations in all of Go's forms: %s", (text, ms) => {
  expect(pushSettings({ PILOT_DEBOUNCE_AFTER: text }).quietMs).toBe(ms);
});

it("raises a maximum below the quiet period, and replaces negative numbers with the default, as in Istio", () => {
  expect(pushSettings({ PILOT_DEBOUNCE_AFTER: "1s", PILOT_DEBOUNCE_MAX: "50ms" })).toMatchObject({
    quietMs: 1000,
    maxMs: 1000,
  });
  expect(pushSettings({ PILOT_PUSH_THROTTLE: "-1", PILOT_MAX_REQUESTS_PER_SECOND: "-1" }, 2)).toMatchObject({
    concurrentPushes: 25,
    streamsPerSecond: 25,
  });
});

it.each([
  [
    { PILOT_DEBOUNCE_AFTER: "soon" },
    'invalid value "soon" for PILOT_DEBOUNCE_AFTER: expected a duration such as 100ms, 10s or 1h30m',
  ],
  [
    { PILOT_DEBOUNCE_MAX: "10" },
    'invalid value "10" for PILOT_DEBOUNCE_MAX: expected a duration such as 100ms, 10s or 1h30m',
  ],
  [{ PILOT_PUSH_THROTTLE: "1.5" }, 'invalid value "1.5" for PILOT_PUSH_THROTTLE: expected an integer'],
  [
    { PILOT_MAX_REQUESTS_PER_SECOND: "some" },
    'invalid value "some" for PILOT_MAX_REQUESTS_PER_SECOND: expected a number',
  ],
  [
    { PILOT_ENABLE_EDS_DEBOUNCE: "maybe" },
    'invalid value "maybe" for PILOT_ENABLE_EDS_DEBOUNCE: expected true or false',
  ],
])("rejects %o", (env, message) => {
  expect(() => pushSettings(env)).toThrow(message);
});

const limitFlags = flagDefaults({});

/** Limits that Istio does not have. */
const ownLimits = {
  compression: true,
  maxUnauthenticatedStreams: 100,
  handshakeTimeoutMs: 10_000,
  firstRequestTimeoutMs: 15_000,
  idleTimeoutMs: 300_000,
};

it.each(["ISTIOD_HANDSHAKE_TIMEOUT", "ISTIOD_FIRST_REQUEST_TIMEOUT", "ISTIOD_CONNECTION_IDLE_TIMEOUT"])(
  "%s cannot be disabled",
  (variable) => {
    expect(() => connectionLimits(limitFlags, { [variable]: "0s" })).toThrow(
      `invalid value "0s" for ${variable}: expected a duration of more than 0s`,
    );
  },
);

it("has Istio's connection limits", () => {
  expect(connectionLimits(limitFlags, {})).toEqual({
    keepAlive: { intervalMs: 30_000, timeoutMs: 10_000 },
    maxRequestBytes: 4_194_304,
    maxStreams: 100_000,
    ...ownLimits,
  });
  expect(
    connectionLimits(
      { keepaliveInterval: 0, keepaliveTimeout: 0, keepaliveMaxServerConnectionAge: 1_800_000, xdsCompression: true },
      { ISTIO_GPRC_MAXRECVMSGSIZE: "100", ISTIO_GPRC_MAXSTREAMS: "7" },
    ),
  ).toEqual({
    keepAlive: { intervalMs: 7_200_000, timeoutMs: 20_000 },
    maxAge: { ms: 1_800_000, graceMs: 10_000 },
    maxRequestBytes: 100,
    maxStreams: 7,
    ...ownLimits,
  });
  expect(connectionLimits({ ...limitFlags, keepaliveInterval: 1 }, {}).keepAlive.intervalMs).toBe(1000);
  expect(() => flags.keepaliveTimeout.read({}, ["long"])).toThrow(
    'invalid value "long" for --keepaliveTimeout: expected a duration such as 100ms, 10s or 1h30m',
  );
  expect(() => connectionLimits(limitFlags, { ISTIO_GPRC_MAXSTREAMS: "0" })).toThrow(
    'invalid value "0" for ISTIO_GPRC_MAXSTREAMS: expected an integer between 1 and 4294967295',
  );
});

import { goDurationText } from "@istiod/settings";
import { type Functions, goFunction } from "../functions.js";
import { anyType, integerTypes, boolType, stringType, structType } from "../values/known-types.js";
import { parseInteger } from "../values/numbers.js";
import { GoInteger, GoStruct, type Value } from "../values/values.js";
import { parseDuration, roundDuration } from "./duration.js";
import { formatTime, type Instant, parseTime } from "./time-layout.js";

/** Context of functions of dates. */
export interface DateOptions {
  /** Returns the current time in milliseconds since 1970. Default: functions that need it fail. */
  readonly now?: () => number;
  /** Name of the time zone that Go calls `Local`. Default: `UTC`. */
  readonly timeZone?: string;
}

const text = stringType;
const timeType = structType("time.Time");
const instants = new WeakMap<GoStruct, Instant>();
const nanosecondsPerSecond = 1_000_000_000n;

/** Functions of dates. */
export function dateFunctions({ now, timeZone = "UTC" }: DateOptions): Functions {
  const current = (): bigint => {
    if (now === undefined) throw new Error("the current time is not available to this template");
    return BigInt(Math.trunc(now())) * 1_000_000n;
  };
  const nanosecondsOf = (value: Value): bigint => timeIn(value)?.nanoseconds ?? secondsOf(value) ?? current();
  const inZone = (layout: string, value: Value, zone: string): string =>
    formatTime({ nanoseconds: nanosecondsOf(value), zone: zoneOf(zone, timeZone) }, layout);
  const modify = goFunction([text, timeType], timeType, (duration, time) => {
    const nanoseconds = parseDuration(duration);
    return typeof nanoseconds === "string" ? time : later(time, nanoseconds);
  });
  const mustModify = goFunction([text, timeType], timeType, (duration, time) => {
    const nanoseconds = parseDuration(duration);
    if (typeof nanoseconds === "string") throw new Error(nanoseconds);
    return later(time, nanoseconds);
  });
  const dateInZone = goFunction([text, anyType, text], text, inZone);
  return {
    now: goFunction([], timeType, () => timeOf({ nanoseconds: current(), zone: timeZone })),
    ago: goFunction([anyType], text, (value) => goDurationText(roundToSeconds(current() - nanosecondsOf(value)))),
    date: goFunction([text, anyType], text, (layout, value) => inZone(layout, value, "Local")),
    dateInZone,
    date_in_zone: dateInZone,
    htmlDate: goFunction([anyType], text, (value) => inZone("2006-01-02", value, "Local")),
    htmlDateInZone: goFunction([anyType, text], text, (value, zone) => inZone("2006-01-02", value, zone)),
    dateModify: modify,
    date_modify: modify,
    mustDateModify: mustModify,
    must_date_modify: mustModify,
    duration: goFunction([anyType], text, (value) => {
      const seconds = typeof value === "string" ? (parseInteger(value, 10) ?? 0n) : int64Of(value);
      return goDurationText(BigInt.asIntN(64, seconds * nanosecondsPerSecond));
    }),
    durationRound: goFunction([anyType], text, (value) => {
      const time = timeIn(value);
      if (time !== undefined) return roundDuration(current() - time.nanoseconds);
      const parsed = typeof value === "string" ? parseDuration(value) : int64Of(value);
      return roundDuration(typeof parsed === "string" ? 0n : parsed);
    }),
    toDate: goFunction([text, text], timeType, (layout, value) => {
      const instant = parseTime(layout, value, timeZone);
      return timeOf(typeof instant === "string" ? zeroTime : instant);
    }),
    mustToDate: goFunction([text, text], timeType, (layout, value) => {
      const instant = parseTime(layout, value, timeZone);
      if (typeof instant === "string") throw new Error(instant);
      return timeOf(instant);
    }),
    unixEpoch: goFunction([timeType], text, (time) => String(secondsSince(instantOf(time)))),
  };
}

/** Go's zero time: the first second of the year 1. */
const zeroTime: Instant = { nanoseconds: -62_135_596_800n * nanosecondsPerSecond, zone: "UTC" };

function timeOf(instant: Instant): GoStruct {
  const format = (layout: string): string => formatTime(instant, layout);
  const struct = new GoStruct(
    "time.Time",
    {},
    {
      text: () => format("2006-01-02 15:04:05.999999999 -0700 MST"),
      methods: {
        Format: goFunction([text], text, format),
        Unix: goFunction([], integerTypes.int64, () => secondsSince(instant)),
        Year: goFunction([], integerTypes.int, () => BigInt(format("2006"))),
        Day: goFunction([], integerTypes.int, () => BigInt(format("2"))),
        Hour: goFunction([], integerTypes.int, () => BigInt(format("15"))),
        Minute: goFunction([], integerTypes.int, () => BigInt(format("4"))),
        Second: goFunction([], integerTypes.int, () => BigInt(format("5"))),
        IsZero: goFunction([], boolType, () => instant.nanoseconds === zeroTime.nanoseconds),
        UTC: goFunction([], timeType, () => timeOf({ ...instant, zone: "UTC" })),
      },
    },
  );
  instants.set(struct, instant);
  return struct;
}

const timeIn = (value: Value): Instant | undefined => (value instanceof GoStruct ? instants.get(value) : undefined);

function instantOf(time: GoStruct): Instant {
  const instant = timeIn(time);
  if (instant === undefined) throw new Error(`expected a time.Time, got ${time.type.name}`);
  return instant;
}

const secondsSince = ({ nanoseconds }: Instant): bigint =>
  (nanoseconds - (((nanoseconds % nanosecondsPerSecond) + nanosecondsPerSecond) % nanosecondsPerSecond)) /
  nanosecondsPerSecond;

const later = (time: GoStruct, duration: bigint): GoStruct => {
  const instant = instantOf(time);
  return timeOf({ ...instant, nanoseconds: instant.nanoseconds + duration });
};

/** Returns the nanoseconds of a Unix time in the integer types that sprig knows. */
function secondsOf(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value * nanosecondsPerSecond;
  const isKnown = value instanceof GoInteger && (value.kind === "int64" || value.kind === "int32");
  return isKnown ? value.value * nanosecondsPerSecond : undefined;
}

const int64Of = (value: Value): bigint => (value instanceof GoInteger && value.kind === "int64" ? value.value : 0n);

function roundToSeconds(duration: bigint): bigint {
  const half = duration < 0n ? -nanosecondsPerSecond / 2n : nanosecondsPerSecond / 2n;
  return ((duration + half) / nanosecondsPerSecond) * nanosecondsPerSecond;
}

function zoneOf(name: string, local: string): string {
  if (name === "Local") return local;
  try {
    return name === "" ? "UTC" : new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}

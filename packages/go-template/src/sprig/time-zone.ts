/** A moment, and the zone in which it is shown. */
export interface Instant {
  /** Nanoseconds since 1970. */
  readonly nanoseconds: bigint;
  /** A name of the tz database, or a fixed offset. */
  readonly zone: string | ZoneOffset;
}

/** Offset of a zone from UTC at a moment. */
export interface ZoneOffset {
  /** Seconds east of UTC. */
  readonly seconds: number;
  readonly abbreviation: string | undefined;
}

/** A moment on the clock and calendar of its zone. */
export interface CivilTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly dayOfYear: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanosecond: number;
  readonly zone: ZoneOffset;
}

const nanosecondsPerMillisecond = 1_000_000n;

/** Returns the clock and calendar of a moment. */
export function civilTime({ nanoseconds, zone }: Instant): CivilTime {
  const subsecond = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const milliseconds = Number((nanoseconds - subsecond) / nanosecondsPerMillisecond);
  const offset = typeof zone === "string" ? zoneOffset(zone, milliseconds) : zone;
  const local = new Date(milliseconds + offset.seconds * 1000);
  const newYear = new Date(local);
  newYear.setUTCMonth(0, 1);
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    dayOfYear: Math.round((local.getTime() - newYear.getTime()) / 86_400_000) + 1,
    weekday: local.getUTCDay(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    nanosecond: Number(subsecond),
    zone: offset,
  };
}

/**
 * Returns the offset of a zone.
 *
 * @param milliseconds since 1970
 */
export function zoneOffset(zone: string, milliseconds: number): ZoneOffset {
  if (zone === "UTC") return { seconds: 0, abbreviation: "UTC" };
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
    timeZoneName: "short",
  }).formatToParts(milliseconds);
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((each) => each.type === type)?.value ?? "0";
  const local = Date.UTC(
    Number(part("year")),
    Number(part("month")) - 1,
    Number(part("day")),
    Number(part("hour")),
    Number(part("minute")),
    Number(part("second")),
  );
  const name = part("timeZoneName");
  const whole = Math.floor(milliseconds / 1000) * 1000;
  const seconds = (local - whole) / 1000;
  return { seconds, abbreviation: /^[A-Z]{3,4}$/.test(name) ? name : numericAbbreviation(seconds) };
}

/** Returns the abbreviation of a zone that has no letters for it, such as `-03`. */
function numericAbbreviation(seconds: number): string {
  const minutes = Math.floor(Math.abs(seconds) / 60);
  const parts = minutes % 60 === 0 ? [minutes / 60] : [Math.floor(minutes / 60), minutes % 60];
  return (seconds < 0 ? "-" : "+") + parts.map((part) => String(part).padStart(2, "0")).join("");
}

import { quoteBytes } from "./duration.js";
import { civilTime, type Instant, type ZoneOffset, zoneOffset } from "./time-zone.js";

export type { Instant } from "./time-zone.js";

const tokens =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|002|0[1-6]|15|1|2006|2|__2|_2(?!006)|3|4|5|PM|pm|[-Z]07(?:0000|:00:00|00|:00)?|[.,](?:0+|9+)(?![0-9])/g;

const months = "January February March April May June July August September October November December".split(" ");
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

const padded = (value: number, width: number, fill = "0"): string => String(value).padStart(width, fill);

/** Returns a time in a layout, as Go's `Time.Format`. */
export function formatTime(instant: Instant, layout: string): string {
  const time = civilTime(instant);
  const hour12 = time.hour % 12 === 0 ? 12 : time.hour % 12;
  const texts: Readonly<Record<string, string>> = {
    January: months[time.month - 1] ?? "",
    Jan: (months[time.month - 1] ?? "").slice(0, 3),
    "1": String(time.month),
    "01": padded(time.month, 2),
    Monday: weekdays[time.weekday] ?? "",
    Mon: (weekdays[time.weekday] ?? "").slice(0, 3),
    "2": String(time.day),
    _2: padded(time.day, 2, " "),
    "02": padded(time.day, 2),
    __2: padded(time.dayOfYear, 3, " "),
    "002": padded(time.dayOfYear, 3),
    "15": padded(time.hour, 2),
    "3": String(hour12),
    "03": padded(hour12, 2),
    "4": String(time.minute),
    "04": padded(time.minute, 2),
    "5": String(time.second),
    "05": padded(time.second, 2),
    "2006": time.year < 0 ? `-${padded(-time.year, 4)}` : padded(time.year, 4),
    "06": padded(((time.year % 100) + 100) % 100, 2),
    PM: time.hour >= 12 ? "PM" : "AM",
    pm: time.hour >= 12 ? "pm" : "am",
    MST: time.zone.abbreviation ?? offsetText(time.zone, "-0700"),
  };
  return layout.replace(tokens, (token) => {
    if (/^[-Z]/.test(token)) return offsetText(time.zone, token);
    if (/^[.,]/.test(token)) return fractionText(time.nanosecond, token);
    return texts[token] ?? token;
  });
}

function offsetText({ seconds }: ZoneOffset, token: string): string {
  if (token.startsWith("Z") && seconds === 0) return "Z";
  const total = Math.abs(seconds);
  const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const separator = token.includes(":") ? ":" : "";
  const parts = [hours, minutes, rest].slice(0, token.replace(/[^0-9]/g, "").length / 2);
  return (seconds < 0 ? "-" : "+") + parts.map((part) => padded(part, 2)).join(separator);
}

function fractionText(nanosecond: number, token: string): string {
  const digits = padded(nanosecond, 9).slice(0, token.length - 1);
  if (token.charAt(1) === "0") return token.charAt(0) + digits.padEnd(token.length - 1, "0");
  const trimmed = digits.replace(/0+$/, "");
  return trimmed === "" ? "" : token.charAt(0) + trimmed;
}

interface Fields {
  year: number;
  month: number;
  day: number;
  dayOfYear: number | undefined;
  hour: number;
  minute: number;
  second: number;
  nanosecond: number;
  half: "am" | "pm" | undefined;
  offset: number | undefined;
  abbreviation: string | undefined;
}

type Reader = readonly [RegExp, (fields: Fields, text: string) => void];

const number = (
  pattern: RegExp,
  name: "year" | "month" | "day" | "dayOfYear" | "hour" | "minute" | "second",
): Reader => [pattern, (fields, text) => (fields[name] = Number(text))];
const monthNames = months.flatMap((month) => [month]).join("|");
const shortMonths = months.map((month) => month.slice(0, 3)).join("|");
const monthOf: Reader[1] = (fields, text) =>
  (fields.month = months.findIndex((month) => month.slice(0, 3).toLowerCase() === text.slice(0, 3).toLowerCase()) + 1);
const half: Reader = [/^(?:AM|PM|am|pm)/, (fields, text) => (fields.half = text.toLowerCase() === "pm" ? "pm" : "am")];

const readers: Readonly<Record<string, Reader>> = {
  "2006": number(/^\d{4}/, "year"),
  "06": [/^\d{2}/, (fields, text) => (fields.year = Number(text) + (Number(text) >= 69 ? 1900 : 2000))],
  "01": number(/^\d{2}/, "month"),
  "1": number(/^\d{1,2}/, "month"),
  January: [new RegExp(`^(?:${monthNames})`, "i"), monthOf],
  Jan: [new RegExp(`^(?:${shortMonths})`, "i"), monthOf],
  Monday: [new RegExp(`^(?:${weekdays.join("|")})`, "i"), () => undefined],
  Mon: [new RegExp(`^(?:${weekdays.map((day) => day.slice(0, 3)).join("|")})`, "i"), () => undefined],
  "02": number(/^\d{2}/, "day"),
  _2: number(/^ ?\d{1,2}/, "day"),
  "2": number(/^ ?\d{1,2}/, "day"),
  "002": number(/^\d{3}/, "dayOfYear"),
  __2: number(/^ {0,2}\d{1,3}/, "dayOfYear"),
  "15": number(/^\d{1,2}/, "hour"),
  "03": number(/^\d{2}/, "hour"),
  "3": number(/^\d{1,2}/, "hour"),
  "04": number(/^\d{2}/, "minute"),
  "4": number(/^\d{1,2}/, "minute"),
  "05": number(/^\d{2}/, "second"),
  "5": number(/^\d{1,2}/, "second"),
  PM: half,
  pm: half,
  MST: [/^(?:UTC|[A-Z]{3,4})/, (fields, text) => (fields.abbreviation = text)],
};

/** Returns the time that a text has in a layout, or the message of an error. */
export function parseTime(layout: string, text: string, timeZone: string): Instant | string {
  const fields: Fields = {
    year: 0,
    month: 1,
    day: 1,
    dayOfYear: undefined,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    half: undefined,
    offset: undefined,
    abbreviation: undefined,
  };
  const prefix = `parsing time ${quoteBytes(text)}`;
  const fault = (rest: string, token: string): string =>
    `${prefix} as ${quoteBytes(layout)}: cannot parse ${quoteBytes(rest)} as ${quoteBytes(token)}`;
  let rest = text;
  let position = 0;
  for (const match of layout.matchAll(tokens)) {
    const literal = layout.slice(position, match.index);
    if (!rest.startsWith(literal)) return fault(rest, literal);
    const [token] = match;
    position = match.index + token.length;
    const after = readToken(fields, token, rest.slice(literal.length));
    if (after === undefined) return fault(rest.slice(literal.length), token);
    rest = after;
    const range = outOfRange(fields, token);
    if (range !== undefined) return `${prefix}: ${range} out of range`;
  }
  const tail = layout.slice(position);
  if (!rest.startsWith(tail)) return fault(rest, tail);
  if (rest.length > tail.length) return `${prefix}: extra text: ${quoteBytes(rest.slice(tail.length))}`;
  return isDayInMonth(fields) ? instantOf(fields, timeZone) : `${prefix}: day out of range`;
}

/** Reads the text of a token, and returns the rest; undefined if the text does not fit. */
function readToken(fields: Fields, token: string, text: string): string | undefined {
  if (/^[-Z]/.test(token)) return readOffset(fields, token, text);
  if (/^[.,]/.test(token)) return readFraction(fields, token, text);
  const [pattern, read] = readers[token] ?? [];
  const value = pattern?.exec(text)?.[0];
  if (value === undefined || read === undefined) return undefined;
  read(fields, value);
  const rest = text.slice(value.length);
  const fraction = token === "05" || token === "5" ? /^[.,](\d+)/.exec(rest) : null;
  if (fraction?.[1] === undefined) return rest;
  fields.nanosecond = Number(fraction[1].slice(0, 9).padEnd(9, "0"));
  return rest.slice(fraction[0].length);
}

function readFraction(fields: Fields, token: string, text: string): string | undefined {
  if (token.charAt(1) === "9") return text;
  const digits = new RegExp(`^[.,](\\d{${token.length - 1}})`).exec(text);
  if (digits?.[1] === undefined) return fields.nanosecond === 0 ? undefined : text;
  fields.nanosecond = Number(digits[1].slice(0, 9).padEnd(9, "0"));
  return text.slice(digits[0].length);
}

function readOffset(fields: Fields, token: string, text: string): string | undefined {
  if (token.startsWith("Z") && text.startsWith("Z")) {
    fields.offset = 0;
    return text.slice(1);
  }
  const source = token.slice(1).replace(/\d{2}/g, "(\\d{2})");
  const match = new RegExp(`^([+-])${source}`).exec(text);
  if (match === null) return undefined;
  const [whole, sign, hours = "0", minutes = "0", seconds = "0"] = match;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  fields.offset = sign === "-" ? -total : total;
  return text.slice(whole.length);
}

/** Returns the field that a token has just set out of range. */
function outOfRange({ month, hour, minute, second }: Fields, token: string): string | undefined {
  if ((token === "1" || token === "01") && (month < 1 || month > 12)) return "month";
  if (token === "15" && hour > 23) return "hour";
  if ((token === "3" || token === "03") && hour > 12) return "hour";
  if (minute > 59) return "minute";
  return second > 59 ? "second" : undefined;
}

function isDayInMonth({ year, month, day }: Fields): boolean {
  const days = new Date(Date.UTC(2000, month, 0)).getUTCDate();
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day >= 1 && day <= (month === 2 && !isLeap ? 28 : days);
}

function instantOf(fields: Fields, timeZone: string): Instant {
  const hour = fields.half === "pm" && fields.hour < 12 ? fields.hour + 12 : fields.hour;
  const date = new Date(0);
  const isDayOfYear = fields.dayOfYear !== undefined;
  date.setUTCFullYear(fields.year, isDayOfYear ? 0 : fields.month - 1, fields.dayOfYear ?? fields.day);
  date.setUTCHours(fields.half === "am" && hour === 12 ? 0 : hour, fields.minute, fields.second);
  const local = BigInt(date.getTime()) * 1_000_000n + BigInt(fields.nanosecond);
  if (fields.offset === undefined) {
    const isUtc = fields.abbreviation === "UTC";
    const { seconds } = zoneOffset(isUtc ? "UTC" : timeZone, date.getTime());
    return { nanoseconds: local - BigInt(seconds) * 1_000_000_000n, zone: isUtc ? "UTC" : timeZone };
  }
  const nanoseconds = local - BigInt(fields.offset) * 1_000_000_000n;
  if (zoneOffset(timeZone, Number(nanoseconds / 1_000_000n)).seconds === fields.offset)
    return { nanoseconds, zone: timeZone };
  return { nanoseconds, zone: { seconds: fields.offset, abbreviation: fields.abbreviation } };
}

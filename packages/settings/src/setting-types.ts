import { parseGoBoolean } from "./go-boolean.js";
import { formatDurationMs, parseDurationMs } from "./go-duration.js";
import { defineSetting, type Setting, type SettingOptions } from "./setting.js";

/** Inclusive limits of a number. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Declares a string. */
export function stringSetting(options: SettingOptions<string>): Setting<string> {
  return defineSetting(options, { type: "string", expected: "a string", parse: (text) => text, format: String });
}

/** Declares a string that must be one of the given values. An empty default means that none is chosen. */
export function enumSetting<V extends string>(
  options: SettingOptions<V>,
  values: readonly Exclude<V, "">[],
): Setting<V> {
  return defineSetting<V>(options, {
    type: "enum",
    expected: values.length === 1 ? (values[0] ?? "") : `one of ${values.join(", ")}`,
    parse: (text) => (text === options.default ? options.default : values.find((value) => value === text)),
    format: String,
  });
}

/** Declares a boolean in Go's syntax. Its flag without a value is true. */
export function booleanSetting(options: SettingOptions<boolean>): Setting<boolean> {
  return defineSetting(options, { type: "boolean", expected: "true or false", parse: parseGoBoolean, format: String });
}

/** Declares an integer within a range. */
export function integerSetting(options: SettingOptions<number>, range: Range = {}): Setting<number> {
  return defineSetting(options, {
    type: "integer",
    expected: `an integer${describe(range)}`,
    parse: (text) => (/^[+-]?\d+$/.test(text) ? within(range, Number(text)) : undefined),
    format: String,
  });
}

/** Declares a decimal number within a range. */
export function numberSetting(options: SettingOptions<number>, range: Range = {}): Setting<number> {
  return defineSetting(options, {
    type: "number",
    expected: `a number${describe(range)}`,
    parse: (text) => (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? within(range, Number(text)) : undefined),
    format: String,
  });
}

/** Declares a duration in Go's syntax. Its value is milliseconds; a negative duration is 0, as for Go's timers. */
export function durationSetting(options: SettingOptions<number>): Setting<number> {
  return defineSetting(options, {
    type: "duration",
    expected: "a duration such as 100ms, 10s or 1h30m",
    parse(text) {
      const milliseconds = parseDurationMs(text);
      return milliseconds === undefined ? undefined : Math.max(0, milliseconds);
    },
    format: formatDurationMs,
  });
}

/**
 * Declares a list, separated by commas; a repeated flag adds to it. Spaces around the items and empty items are
 * dropped.
 */
export function listSetting(options: SettingOptions<readonly string[]>): Setting<readonly string[]> {
  return defineSetting<readonly string[]>(options, {
    type: "list",
    expected: "values separated by commas",
    parse: splitList,
    format: (items) => items.join(","),
    merge: (before, next) => [...before, ...next],
  });
}

/** Declares a flag that may be repeated. Each value is an item as it is. */
export function stringArraySetting(options: SettingOptions<readonly string[]>): Setting<readonly string[]> {
  return defineSetting<readonly string[]>(options, {
    type: "stringArray",
    expected: "a string",
    parse: (text) => [text],
    format: (items) => items.join(","),
    merge: (before, next) => [...before, ...next],
  });
}

/** Declares a map, given as `key=value` separated by commas; a repeated flag adds to it. */
export function mapSetting(
  options: SettingOptions<Readonly<Record<string, string>>>,
): Setting<Readonly<Record<string, string>>> {
  return defineSetting<Readonly<Record<string, string>>>(options, {
    type: "map",
    expected: "key=value pairs separated by commas",
    parse(text) {
      const pairs = splitList(text).map((pair) => /^([^=]+)=(.*)$/s.exec(pair));
      if (pairs.includes(null)) return undefined;
      return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
    },
    format: (map) =>
      Object.entries(map)
        .map(([key, value]) => `${key}=${value}`)
        .join(","),
    merge: (before, next) => ({ ...before, ...next }),
  });
}

function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function within({ min = -Number.MAX_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }: Range, value: number) {
  return value >= min && value <= max ? value : undefined;
}

function describe({ min, max }: Range): string {
  if (min !== undefined && max !== undefined) return ` between ${min} and ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}

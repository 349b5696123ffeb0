import type { QueryContext } from "@istiod/incremental";
import {
  booleanSetting,
  defineSetting,
  durationSetting,
  integerSetting,
  numberSetting,
  parseDurationMs,
  type Setting,
  stringSetting,
} from "@istiod/settings";
import { environment } from "./environment.js";

/** An environment variable of istiod. Queries read it as an input, so that the dependency on it is recorded. */
export interface Feature<T> {
  (q: QueryContext): T;
  /** Name of the environment variable. */
  readonly variable: string;
  /** The value if the variable is absent or invalid. */
  readonly default: T;
  /** The declaration of the variable. */
  readonly setting: Setting<T>;
}

/** Declares a boolean in Go's syntax. */
export function booleanFeature(variable: string, fallback: boolean, help: string): Feature<boolean> {
  return feature(booleanSetting({ variable, default: fallback, help }));
}

/** Declares a string. */
export function stringFeature(variable: string, fallback: string, help: string): Feature<string> {
  return feature(stringSetting({ variable, default: fallback, help }));
}

/** Declares a string for which an empty value counts as absent. */
export function nameFeature(variable: string, fallback: string, help: string): Feature<string> {
  const setting = stringSetting({ variable, default: fallback, help });
  return feature({ ...setting, parse: (text) => (text === "" ? undefined : text) });
}

/** Declares an integer. */
export function integerFeature(variable: string, fallback: number, help: string): Feature<number> {
  return feature(integerSetting({ variable, default: fallback, help }));
}

/** Declares a bound: an integer of at least 1, of istiod alone. */
export function boundFeature(variable: string, fallback: number, help: string): Feature<number> {
  return feature(integerSetting({ variable, default: fallback, help, isExtension: true }, { min: 1 }));
}

/** Declares a decimal number. */
export function floatFeature(variable: string, fallback: number, help: string): Feature<number> {
  return feature(numberSetting({ variable, default: fallback, help }));
}

/** Declares a duration in Go's syntax. Its value is milliseconds. */
export function durationFeature(variable: string, fallbackMs: number, help: string): Feature<number> {
  const setting = durationSetting({ variable, default: fallbackMs, help });
  return feature({ ...setting, parse: parseDurationMs });
}

/** Declares a list separated by commas, sorted and without repetitions. */
export function listFeature(variable: string, help: string): Feature<readonly string[]> {
  return feature(
    defineSetting<readonly string[]>(
      { variable, default: [], help },
      {
        type: "list",
        expected: "values separated by commas",
        parse: (text) => (text === "" ? [] : [...new Set(text.split(","))].sort()),
        format: (items) => items.join(","),
      },
    ),
  );
}

/** Declares a variable that is read only while `condition` holds. Otherwise the value is `otherwise`. */
export function featureWhen<T>(condition: Feature<boolean>, enabled: Feature<T>, otherwise: T): Feature<T> {
  return Object.assign((q: QueryContext) => (condition(q) ? enabled(q) : otherwise), {
    variable: enabled.variable,
    default: otherwise,
    setting: enabled.setting,
  });
}

function feature<T>(setting: Setting<T>): Feature<T> {
  const [variable = ""] = setting.variables;
  const read = (q: QueryContext): T => {
    const text = q.read(environment, variable);
    return text === undefined ? setting.default : (setting.parse(text) ?? setting.default);
  };
  return Object.assign(read, { variable, default: setting.default, setting });
}

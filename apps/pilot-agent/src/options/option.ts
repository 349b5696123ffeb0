import { AgentError } from "../errors.js";
import { parseDuration } from "./duration.js";

/** One setting: how it is named, read, and explained. */
export interface Option<T> {
  /** Command-line flag without dashes. */
  readonly flag?: string;
  /** The flag's one-letter form, without the dash. */
  readonly short?: string;
  /** Environment variable. A flag wins over it. */
  readonly env?: string;
  readonly kind: "text" | "integer" | "number" | "switch" | "duration";
  readonly default: T;
  /** What it does, as a sentence. */
  readonly help: string;
  /** True for what Istio's agent does not have. */
  readonly own?: boolean;
  readonly read: (text: string) => T;
}

type Words<T> = Pick<Option<T>, "flag" | "short" | "env" | "help" | "own"> & { readonly default: T };

export const text = (words: Words<string>): Option<string> => ({ ...words, kind: "text", read: (value) => value });

export const integer = (words: Words<number>): Option<number> => ({
  ...words,
  kind: "integer",
  read(value) {
    if (!/^-?\d{1,10}$/.test(value))
      throw new AgentError("option", `${nameOf(words)}: ${JSON.stringify(value)} is not a whole number`);
    return Number(value);
  },
});

export const number = (words: Words<number>): Option<number> => ({
  ...words,
  kind: "number",
  read(value) {
    if (value.trim() === "" || !Number.isFinite(Number(value)))
      throw new AgentError("option", `${nameOf(words)}: ${JSON.stringify(value)} is not a number`);
    return Number(value);
  },
});

export const toggle = (words: Words<boolean>): Option<boolean> => ({
  ...words,
  kind: "switch",
  read(value) {
    if (/^(1|t|true)$/i.test(value)) return true;
    if (/^(0|f|false)$/i.test(value)) return false;
    throw new AgentError("option", `${nameOf(words)}: ${JSON.stringify(value)} is neither true nor false`);
  },
});

/** A length of time in Go's notation, such as `1h30m`; its value is milliseconds. */
export const duration = (words: Words<number>): Option<number> => ({
  ...words,
  kind: "duration",
  read(value) {
    const milliseconds = parseDuration(value);
    if (milliseconds === undefined)
      throw new AgentError(
        "option",
        `${nameOf(words)}: ${JSON.stringify(value)} is not a duration such as 1h30m or 100ms`,
      );
    return milliseconds;
  },
});

/** How a person would name the option. */
export function nameOf(option: { readonly flag?: string; readonly env?: string }): string {
  return option.flag !== undefined ? `--${option.flag}` : (option.env ?? "");
}

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An environment variable, declared once: its name, its default, and how its text is read. */
export interface Variable<T> {
  readonly name: string;
  /** The value of an absent or empty variable. */
  readonly default: T;
  /** @throws SettingError where the text cannot be read */
  read(env: Environment): T;
}

/** A variable or flag that cannot be used; the message names it. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

/**
 * Declares a variable.
 *
 * @param parse undefined for a text that is not a value
 * @param expected what a value looks like, for messages
 */
export function variable<T>(
  name: string,
  byDefault: T,
  parse: (text: string) => T | undefined,
  expected: string,
): Variable<T> {
  return {
    name,
    default: byDefault,
    read(env) {
      const text = env[name] ?? "";
      if (text === "") return byDefault;
      const value = parse(text);
      if (value === undefined) throw new SettingError(`${name} is ${JSON.stringify(text)}, expected ${expected}`);
      return value;
    },
  };
}

export function textVariable(name: string, byDefault = ""): Variable<string> {
  return variable(name, byDefault, (text) => text, "a text");
}

/** Comma-separated words, without spaces around them; empty ones are left out. */
export function listVariable(name: string): Variable<readonly string[]> {
  const words = (text: string): readonly string[] =>
    text
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== "");
  return variable<readonly string[]>(name, [], words, "words separated by commas");
}

export function booleanVariable(name: string, byDefault: boolean): Variable<boolean> {
  return variable(name, byDefault, parseBoolean, "true or false");
}

/** A whole number between two others. */
export function integerVariable(
  name: string,
  byDefault: number,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { readonly least?: number; readonly most?: number } = {},
): Variable<number> {
  const parse = (text: string): number | undefined => {
    const value = Number(text);
    return /^[+-]?\d+$/.test(text.trim()) && value >= least && value <= most ? value : undefined;
  };
  return variable(
    name,
    byDefault,
    parse,
    most === Number.MAX_SAFE_INTEGER ? `a whole number of ${least} or more` : `a whole number from ${least} to ${most}`,
  );
}

/** A boolean in the spellings of Go's strconv.ParseBool, in any case; undefined for anything else. */
export function parseBoolean(text: string): boolean | undefined {
  if (/^(?:1|t|true)$/i.test(text)) return true;
  if (/^(?:0|f|false)$/i.test(text)) return false;
  return undefined;
}

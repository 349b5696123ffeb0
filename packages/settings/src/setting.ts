/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The kinds of values; each is a word of pflag or of Go's `pkg/env`. */
export type SettingType =
  | "string"
  | "boolean"
  | "integer"
  | "number"
  | "duration"
  | "list"
  | "stringArray"
  | "map"
  | "enum";

/** A declaration of a flag, of an environment variable, or of a value that can be set by both. */
export interface SettingOptions<T> {
  /** Name of the flag, without dashes. */
  readonly flag?: string;
  /** One-letter form of the flag, without the dash. */
  readonly short?: string;
  /** Further names of the flag. */
  readonly aliases?: readonly string[];
  /** Name of the environment variable; of several, the first that is not empty counts. */
  readonly variable?: string | readonly string[];
  readonly default: T;
  /** One line for `--help` and the reference: a noun phrase or an imperative. */
  readonly help: string;
  /** Placeholder of the value in `--help`. Default: the type. */
  readonly placeholder?: string;
  /** Reason why the setting is accepted and ignored. Absent if it has an effect. */
  readonly ignored?: string;
  /** Marks a setting that Istio does not have. */
  readonly isExtension?: boolean;
}

/** A setting, declared once. Parsing, `--help` and the reference come from it. */
export interface Setting<T> extends Omit<SettingOptions<T>, "variable" | "aliases" | "placeholder"> {
  readonly type: SettingType;
  readonly aliases: readonly string[];
  readonly variables: readonly string[];
  readonly placeholder: string;
  /** The expected syntax, for errors: `a duration such as 10s`. */
  readonly expected: string;
  /** Parses one text. Returns undefined if it is invalid. */
  parse(text: string): T | undefined;
  /** Formats a value as {@link parse} reads it. */
  format(value: T): string;
  /**
   * Returns the value: of the flag, else of the first variable that is not empty, else the default.
   *
   * @param given Texts of the flag in the order of the command line. If the type cannot be repeated, the last counts.
   * @throws SettingError naming the flag or variable, the text and the expected syntax
   */
  read(env: Environment, given?: readonly string[]): T;
}

/** A table of settings, by the name of the property that holds the value. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table's settings. */
export type SettingValues<T extends SettingTable> = {
  readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never;
};

/** An invalid flag or variable. The message names it. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

/** The syntax of a type of values. */
export interface SettingSyntax<T> {
  readonly type: SettingType;
  readonly expected: string;
  readonly parse: (text: string) => T | undefined;
  readonly format: (value: T) => string;
  /** Combines the values of a flag that is given more than once. Default: the last one counts. */
  readonly merge?: (before: T, next: T) => T;
}

/** Declares a setting with the given syntax. The functions of setting-types.ts declare the usual ones. */
export function defineSetting<T>(
  { variable = [], aliases = [], placeholder, ...options }: SettingOptions<T>,
  { type, expected, parse, format, merge = (_, next) => next }: SettingSyntax<T>,
): Setting<T> {
  const variables = typeof variable === "string" ? [variable] : variable;
  const valueOf = (name: string, text: string): T => {
    const value = parse(text);
    if (value === undefined) throw invalidSetting(name, text, expected);
    return value;
  };
  return {
    ...options,
    type,
    aliases,
    variables,
    placeholder: placeholder ?? type,
    expected,
    parse,
    format,
    read(env, given = []) {
      const texts = given.map((text) => valueOf(`--${options.flag ?? ""}`, text));
      const [first, ...rest] = texts;
      if (first !== undefined) return rest.reduce(merge, first);
      const name = variables.find((each) => (env[each] ?? "") !== "");
      return name === undefined ? options.default : valueOf(name, env[name] ?? "");
    },
  };
}

/** Returns the error for an invalid value of a flag or variable. */
export function invalidSetting(name: string, text: string, expected: string): SettingError {
  return new SettingError(`invalid value ${JSON.stringify(text)} for ${name}: expected ${expected}`);
}

/** Texts of the flags that are given on a command line, by name; several for a repeated flag. */
export type GivenFlags = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the values of a table's settings. @throws SettingError for the first invalid one */
export function readSettings<T extends SettingTable>(
  table: T,
  env: Environment,
  given: GivenFlags = {},
): SettingValues<T> {
  return Object.fromEntries(
    Object.entries(table).map(([property, setting]) => [property, setting.read(env, textsOf(given, setting))]),
  ) as SettingValues<T>;
}

/** Returns the names of all variables of a table. */
export function variablesOf(table: SettingTable): readonly string[] {
  return Object.values(table).flatMap(({ variables }) => variables);
}

/** Returns a warning for each given flag that is ignored. A flag that is given empty asks for nothing. */
export function ignoredFlagWarnings(table: SettingTable, given: GivenFlags): readonly string[] {
  return Object.values(table).flatMap(({ flag = "", ignored }) => {
    const text = textsOf(given, { flag }).join(",");
    return ignored === undefined || text === "" ? [] : [`--${flag}=${text} is ignored: ${ignored}`];
  });
}

function textsOf(given: GivenFlags, { flag = "" }: { readonly flag?: string }): readonly string[] {
  return [given[flag] ?? []].flat();
}

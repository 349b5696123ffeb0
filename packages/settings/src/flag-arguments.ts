import { parseArgs } from "node:util";
import { parseGoBoolean } from "./go-boolean.js";
import { invalidSetting, SettingError } from "./setting.js";

/** A flag, as far as the syntax of command lines depends on it. */
export interface FlagSyntax {
  /** Name without dashes. */
  readonly name: string;
  readonly short?: string;
  /** A boolean flag has a value only after `=`. */
  readonly isBoolean: boolean;
}

/** A command line, split into flags and arguments. */
export interface FlagArguments {
  /** The known flags with their texts, in order. A boolean flag without a value has `true`. */
  readonly flags: readonly { readonly name: string; readonly text: string }[];
  readonly args: readonly string[];
  /** The unknown flags as they are written, without their values unless after `=`. */
  readonly unknown: readonly string[];
}

/**
 * Splits a command line by the syntax of pflag: `--flag value`, `--flag=value`, `--bool`, `--bool=false`, `-f value`,
 * `-fvalue`, `-f=value`, groups of short booleans, and `--` before arguments. Like cobra's tolerant mode, an unknown
 * flag takes the argument after it as its value if that is not a flag.
 *
 * @throws SettingError for a flag without the value that it needs, and for a boolean that cannot be parsed
 */
export function splitFlagArguments(argv: readonly string[], known: readonly FlagSyntax[]): FlagArguments {
  const byName = new Map(known.map((flag) => [flag.name, flag]));
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      known.map(({ name, short, isBoolean }) => [
        name,
        { type: isBoolean ? "boolean" : "string", ...(short !== undefined && { short }) } as const,
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const flags: { name: string; text: string }[] = [];
  const args: string[] = [];
  const unknown: string[] = [];
  let isValueOfUnknown = false;
  let consumed = -1;
  for (const token of tokens) {
    if (token.index === consumed) continue;
    if (token.kind === "option") {
      const flag = byName.get(token.name);
      const inline = /^-[^-]=(.*)$/s.exec(argv[token.index] ?? "");
      if (flag?.isBoolean === true && inline?.[1] !== undefined) {
        // Not a group of short flags, as which Node.js takes it.
        consumed = token.index;
        flags.push({ name: flag.name, text: textOf(flag, { rawName: token.rawName, value: inline[1] }) });
        continue;
      }
      isValueOfUnknown = flag === undefined && token.value === undefined;
      if (flag === undefined)
        unknown.push(token.value === undefined ? token.rawName : `${token.rawName}=${token.value}`);
      else flags.push({ name: flag.name, text: textOf(flag, token) });
      continue;
    }
    if (token.kind === "positional" && !isValueOfUnknown) args.push(token.value);
    isValueOfUnknown = false;
  }
  return { flags, args, unknown };
}

interface OptionToken {
  readonly rawName: string;
  readonly value?: string | undefined;
}

function textOf({ isBoolean }: FlagSyntax, { rawName, value }: OptionToken): string {
  if (isBoolean) {
    const text = value ?? "true";
    if (parseGoBoolean(text) === undefined) throw invalidSetting(rawName, text, "true or false");
    return text;
  }
  if (value === undefined) throw new SettingError(`flag needs an argument: ${rawName}`);
  return rawName.startsWith("--") ? value : value.replace(/^=/, "");
}

import { Command, InvalidArgumentError, Option, type ParseOptionsResult } from "commander";
import { splitFlagArguments } from "./flag-arguments.js";
import { parseGoBoolean } from "./go-boolean.js";
import { didYouMean } from "./environment-report.js";
import { nearestNames } from "./nearest-names.js";
import { describeSetting, helpOfVariables } from "./reference.js";
import {
  type Environment,
  type GivenFlags,
  ignoredFlagWarnings,
  readSettings,
  type Setting,
  type SettingTable,
} from "./setting.js";

/**
 * A command of commander whose flags come from a table of settings and follow the syntax of pflag, see
 * {@link splitFlagArguments}. Options that are added by other means follow it too.
 */
export class SettingsCommand extends Command {
  readonly #table: Record<string, Setting<unknown>> = {};
  #given: Record<string, string[]> = {};
  #env: Environment = {};
  #unknownFlags: readonly string[] = [];
  #toleratesUnknownFlags = false;

  /** Adds settings. Those without a flag are read from the environment only, and listed in the help. */
  addSettings(table: SettingTable, env: Environment): this {
    Object.assign(this.#table, table);
    this.#env = env;
    for (const setting of Object.values(table)) if (setting.flag !== undefined) this.addOption(optionOf(setting));
    return this;
  }

  /** Adds the settings that have no flag to the end of the help, by titles. */
  addVariablesHelp(groups: Readonly<Record<string, SettingTable>>): this {
    return this.addHelpText("after", () => `\nEnvironment variables\n\n${helpOfVariables(groups)}`);
  }

  /** Ignores unknown flags and their values; {@link settingWarnings} names them. */
  tolerateUnknownFlags(): this {
    this.#toleratesUnknownFlags = true;
    return this.allowUnknownOption();
  }

  /** Texts of the settings' flags that are given on the command line. */
  get givenFlags(): GivenFlags {
    return this.#given;
  }

  /** Returns the values of all options; those of settings by their properties. @throws SettingError */
  override opts<T extends Record<string, unknown>>(): T {
    const ofSettings = new Set(Object.values(this.#table).flatMap(({ flag }) => flag ?? []));
    const others = this.options
      .filter((option) => !ofSettings.has(nameOf(option)))
      .map((option) => [option.attributeName(), this.getOptionValue(option.attributeName()) as unknown] as const)
      .filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(others), ...readSettings(this.#table, this.#env, this.#given) } as unknown as T;
  }

  override parseOptions(argv: string[]): ParseOptionsResult {
    const known = [
      ...this.options.map((option) => ({
        name: nameOf(option),
        ...(option.short !== undefined && { short: option.short.slice(1) }),
        isBoolean: !option.required,
      })),
      { name: "help", short: "h", isBoolean: true },
    ];
    this.#given = {};
    const { flags, args, unknown } = splitFlagArguments(this.#withoutAliases(argv), known);
    const canonical = flags.flatMap(({ name, text }) => this.#canonicalFlag(name, text));
    this.#unknownFlags = this.#toleratesUnknownFlags ? unknown : [];
    const rejected = this.#toleratesUnknownFlags ? [] : unknown.slice(0, 1);
    return super.parseOptions([...canonical, ...rejected, ...(args.length === 0 ? [] : ["--", ...args])]);
  }

  /** Returns a warning for each given flag that is ignored, or unknown and tolerated. */
  settingWarnings(): readonly string[] {
    const names = Object.values(this.#table).flatMap(({ flag }) => flag ?? []);
    return [
      ...ignoredFlagWarnings(this.#table, this.#given),
      ...this.#unknownFlags.map((argument) => {
        const name = argument.replace(/^-+/, "").replace(/=.*$/s, "");
        const nearest = nearestNames(name, names, 1).map((each) => `--${each}`);
        return `unknown flag ${argument} is ignored${didYouMean(nearest)}`;
      }),
    ];
  }

  #withoutAliases(argv: readonly string[]): readonly string[] {
    const names = new Map(
      Object.values(this.#table).flatMap(({ flag = "", aliases }) => aliases.map((alias) => [alias, flag] as const)),
    );
    return names.size === 0
      ? argv
      : argv.map((argument) => {
          const [, name = "", rest = ""] = /^--([^=]+)(=.*)?$/s.exec(argument) ?? [];
          return names.has(name) ? `--${names.get(name) ?? ""}${rest}` : argument;
        });
  }

  /** Returns a flag in the form that commander parses without ambiguity. Records the text of a setting's flag. */
  #canonicalFlag(name: string, text: string): readonly string[] {
    const option = this.options.find((each) => nameOf(each) === name);
    if (Object.values(this.#table).some(({ flag }) => flag === name)) (this.#given[name] ??= []).push(text);
    if (option?.required === true || option?.optional === true) return [`--${name}=${text}`];
    return parseGoBoolean(text) === true ? [`--${name}`] : [];
  }
}

function nameOf(option: Option): string {
  return option.long?.replace(/^--/, "") ?? option.name();
}

function optionOf(setting: Setting<unknown>): Option {
  const short = setting.short === undefined ? "" : `-${setting.short}, `;
  const value = setting.type === "boolean" ? "[bool]" : `<${setting.placeholder}>`;
  return new Option(`${short}--${setting.flag ?? ""} ${value}`, describeSetting(setting)).preset("true");
}

/** Parses the value of an option of commander as a Go boolean. @throws InvalidArgumentError */
export function booleanArgument(text: string): boolean {
  const value = parseGoBoolean(text);
  if (value === undefined) throw new InvalidArgumentError("expected true or false");
  return value;
}

import { type Command, Help } from "commander";
import { commandSummary } from "./completion.js";

/** Defaults that say nothing, as Commander prints them. */
const emptyDefault = / \((?:default: (?:\[\]|""|false)|preset: "true")\)/g;

/** Makes the help of a program and of all its commands fit a screen: short summaries, no empty defaults. */
export function shortenHelp(command: Command): void {
  const { optionDescription } = Help.prototype;
  command.configureHelp({
    subcommandDescription: commandSummary,
    subcommandTerm: (each) => [each.name(), ...each.aliases().slice(0, 1)].join("|"),
    ...command.configureHelp(),
    optionDescription: (option) => optionDescription(option).replaceAll(emptyDefault, ""),
  });
  for (const each of command.commands) shortenHelp(each);
}

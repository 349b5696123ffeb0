import type { Command } from "commander";
import { expect, test } from "vitest";
import { istiodCommand } from "../src/main.js";

/** Returns the help of a command as a terminal of 80 columns shows it. */
function helpOf(command: Command): readonly string[] {
  return command
    .configureHelp({ ...command.configureHelp(), helpWidth: 80 })
    .helpInformation()
    .trimEnd()
    .split("\n");
}

test("the help of istiod has a line for each command, and fits a screen", () => {
  const program = istiodCommand();
  const lines = helpOf(program);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  for (const { name } of program.commands.map((command) => ({ name: command.name() })))
    expect(lines.filter((line) => new RegExp(`^  ${name}( |\\||$)`).test(line)).length).toBe(1);
  expect(lines.length).toBeLessThanOrEqual(50);
});

test("the commands of operators have a help that fits a screen", () => {
  const program = istiodCommand();
  const names = ["describe", "tag", "check-inject", "injector", "precheck", "metrics", "workload", "request"];
  const find = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(find)];
  const commands = program.commands.filter((command) => names.includes(command.name())).flatMap(find);
  expect(commands.length).toBeGreaterThan(names.length);
  expect(commands.filter((command) => helpOf(command).length > 40).map((command) => command.name())).toEqual([]);
});

test("every command but discovery, whose help is the reference of its settings, has a help that fits a large screen", () => {
  const find = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(find)];
  const commands = find(istiodCommand()).filter((command) => command.name() !== "discovery");
  expect(commands.length).toBeGreaterThan(40);
  const tooLong = commands.filter((command) => helpOf(command).length > 52).map((command) => command.name());
  expect(tooLong).toEqual([]);
});

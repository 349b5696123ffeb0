import { readFileSync } from "node:fs";
import * as commands from "@istiod/commands";
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

/** Returns the commands without further ones below them, each with those above it: `tag`, `tag list`. */
function leavesOf(command: Command, above: readonly string[] = []): readonly (readonly string[])[] {
  return command.commands.flatMap((each) => {
    const path = [...above, [...above.slice(-1), each.name()].join(" ")];
    return each.commands.length === 0 ? [path] : leavesOf(each, path);
  });
}

/** Returns the text of a section of a page. */
function section(path: string, heading: string): string {
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
  const [, found] = text.split(`\n## ${heading}\n`);
  if (found === undefined) throw new Error(`${path} has no section ${heading}`);
  return found.split("\n## ")[0] ?? "";
}

test("docs/istiod.md names each command, itself or the one above it", () => {
  const cells = section("docs/istiod.md", "Commands")
    .split("\n")
    .map((row) => row.split("|")[1] ?? "");
  const documented = new Set(
    cells.flatMap((cell) => {
      const [first = "", ...others] = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
      const parent = first.split(" ").slice(1, -1);
      return [
        first,
        ...others.map((name) => (name.startsWith("istiod ") ? name : ["istiod", ...parent, name].join(" "))),
      ];
    }),
  );
  const missing = leavesOf(istiodCommand()).filter((path) => !path.some((name) => documented.has(`istiod ${name}`)));
  expect(missing.map((path) => path.at(-1))).toEqual([]);
});

test("the README of @istiod/commands names each command that the package exports", () => {
  const table = section("packages/commands/README.md", "Commands");
  expect(Object.keys(commands).filter((name) => name.endsWith("Command") && !table.includes(`\`${name}\``))).toEqual(
    [],
  );
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

import { execFileSync } from "node:child_process";
import { completionCommand } from "@istiod/commands";
import { Command } from "commander";
import { expect, test } from "vitest";

function script(shell: string): string {
  let out = "";
  const program = new Command("istiod");
  const tag = program.command("tag").description("Manage revision tags.");
  tag.command("list").alias("show").description("List the tags.").option("-o, --output <format>", "format");
  program.command("version").description("Print the operator's version. It has no flags.");
  program.addCommand(completionCommand(program, { print: (text) => (out += text) }));
  program.exitOverride().configureOutput({ writeErr: () => undefined });
  for (const each of program.commands) each.exitOverride().configureOutput({ writeErr: () => undefined });
  program.parse(["completion", shell], { from: "user" });
  return out;
}

test.each([
  [["istiod", ""], "tag version completion --help"],
  [["istiod", "ta"], "tag"],
  [["istiod", "tag", ""], "list show --help"],
  [["istiod", "tag", "show", "--o"], "--output"],
  [["istiod", "tag", "list", "-o", "json", "--"], "--output --help"],
])("bash completes %j", (words, expected) => {
  const call = `${script("bash")}
COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}; _istiod; echo "\${COMPREPLY[*]}"`;
  expect(execFileSync("bash", ["-c", call], { encoding: "utf8" }).trim()).toBe(expected);
});

test("zsh loads the script of bash, and fish has its own lines", () => {
  expect(script("zsh")).toBe(`autoload -U +X bashcompinit && bashcompinit\n${script("bash")}`);
  expect(script("fish").split("\n")).toEqual(
    expect.arrayContaining([
      "complete -c istiod -n 'not __fish_seen_subcommand_from tag version completion' -f -a version -d 'Print the operator\\'s version'",
      "complete -c istiod -n '__fish_seen_subcommand_from tag; and not __fish_seen_subcommand_from list show' -f -a list -d 'List the tags'",
      "complete -c istiod -n '__fish_seen_subcommand_from tag; and __fish_seen_subcommand_from show' -l output",
    ]),
  );
  expect(() => script("tcsh")).toThrow("Allowed choices are bash, zsh, fish");
});

import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../pack.mjs";

export const examplesDirectory = join(root, "examples");

export const examples = readdirSync(examplesDirectory, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** A command of an example's README, with the output that is shown below it. */
export interface ShownCommand {
  readonly command: string;
  readonly output: string;
}

/** Returns the commands of the `console` blocks in an example's README. */
export function shownCommands(example: string): readonly ShownCommand[] {
  const readme = readFileSync(join(examplesDirectory, example, "README.md"), "utf8");
  return [...readme.matchAll(/```console\n\$ (.*)\n([^]*?)```/g)].map(([, command = "", output = ""]) => ({
    command,
    output,
  }));
}

/** A running program. */
export class Program {
  readonly exited: Promise<number | null>;
  stdout = "";
  stderr = "";
  readonly #child: ChildProcess;

  /** Runs `npm start -- <args>` or `npx tsx <file> <args>` in a directory, by the workspace's tsx. */
  constructor(command: string, directory: string, env: Readonly<Record<string, string>>) {
    const [, args = ""] = /^(?:npm start(?: --)?|npx tsx) ?(.*)$/.exec(command) ?? [];
    const files = command.startsWith("npm") ? ["main.ts"] : [];
    const tsx = join(root, "node_modules/tsx/dist/cli.mjs");
    this.#child = spawn(process.execPath, [tsx, ...files, ...args.split(" ").filter((arg) => arg !== "")], {
      cwd: directory,
      env: { PATH: process.env["PATH"], ...env },
    });
    this.#child.stdout?.on("data", (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = new Promise((resolve) => this.#child.on("close", resolve));
  }

  /** Ends the program unless it has ended. */
  async end(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill("SIGTERM");
    await this.exited;
  }
}

import { spawn } from "node:child_process";
import { readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { childOf } from "./processes.js";

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Returns a command that gives another one a terminal, whose input and output are those of the command. Its status is
 * that of the other one.
 */
export function inTerminal(command: readonly string[]): string[] {
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  // `script` opens a terminal and copies; without a terminal of its own, it would switch off the echo.
  return [
    "env",
    "SHELL=/bin/sh",
    "script",
    "--quiet",
    "--return",
    "--echo",
    "always",
    "--command",
    `exec ${quoted}`,
    "/dev/null",
  ];
}

const INTERVAL = 10;
const MAX_ATTEMPTS = 500;

/** Sets the size of the terminal of a command of `inTerminal`. Does nothing if that has ended. */
export async function resizeTerminal(pid: number, { columns, rows }: TerminalSize): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const child = await childOf(pid);
    const terminal = child === undefined ? "" : await readlink(`/proc/${child}/fd/0`).catch(() => "");
    if (terminal.startsWith("/dev/pts/")) {
      const size = ["rows", String(rows), "columns", String(columns)];
      await new Promise((resolve) =>
        spawn("stty", ["-F", terminal, ...size], { stdio: "ignore" }).once("close", resolve),
      );
      return;
    }
    await sleep(INTERVAL);
  }
}

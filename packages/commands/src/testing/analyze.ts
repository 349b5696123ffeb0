import type { Message } from "@istiod/analysis";
import { analyzeCommand } from "../analyze.js";

/** The result of one run of the command `analyze`. */
export interface AnalyzeRun {
  /** Exit status; `undefined` if the command did not set one. */
  readonly exit: number | undefined;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs the command `analyze` in this process, with no files at the default paths of mesh configuration and networks.
 *
 * @param args Arguments after the name of the command.
 */
export async function analyze(
  args: readonly string[],
  { stdin = "", isColorTerminal = false } = {},
): Promise<AnalyzeRun> {
  let [out, err] = ["", ""];
  let exit: number | undefined;
  const command = analyzeCommand(
    {},
    {
      print: (text) => (out += text),
      warn: (text) => (err += text),
      exit: (status) => (exit = status),
      stdin: () => Promise.resolve(stdin),
      isColorTerminal,
    },
  );
  command.exitOverride().configureOutput({ writeErr: (text) => (err += text) });
  await command.parseAsync([...args], { from: "user" });
  return { exit, out, err };
}

/** Runs the command `analyze`, and returns the findings as "code origin reference". */
export async function findings(...args: readonly string[]): Promise<readonly string[]> {
  const { out } = await analyze([...args, "-o", "json"]);
  return (JSON.parse(out) as Message[]).map(({ code, origin, reference }) => `${code} ${origin} ${reference}`);
}

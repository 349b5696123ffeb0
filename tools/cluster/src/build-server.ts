import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join, resolve } from "node:path";
import { lockFile } from "./lock-file.js";
import { BINARY, builtServer, CACHE, SOURCES, sourceFiles, sourceHash } from "./find-server.js";
import { type CommandEnv, FailedCommandError, lastLine, runCommand } from "./run-command.js";
import { trimLibraries } from "./trim-libraries.js";

export interface BuildOptions {
  /** Directory that is created. Default: one that the repository ignores. */
  readonly cache?: string;
  /** Called with what is done so far, such as `compiled 12 packages`. */
  readonly report?: (progress: string) => void;
  readonly env?: CommandEnv;
}

/** Version that the server reports; clients decide by it what they may use. */
const LINKER_FLAGS = [
  "-s",
  "-w",
  "-X k8s.io/component-base/version.gitVersion=v1.37.2",
  "-X k8s.io/component-base/version.gitMajor=1",
  "-X k8s.io/component-base/version.gitMinor=37",
].join(" ");
/**
 * Flags for everything that is compiled, also the generator, so that both share packages. Without inlining and debug
 * information the compiler needs half of the time. The server is somewhat slower, which tests do not notice.
 */
const COMPILER_FLAGS = "-trimpath '-gcflags=all=-l -dwarf=false'";
/** Go's compilers collect garbage only above a limit, which saves a fifth of their work. No C compiler is needed. */
const COMPILER_ENV: CommandEnv = { GOFLAGS: COMPILER_FLAGS, GOGC: "off", GOMEMLIMIT: "2GiB", CGO_ENABLED: "0" };
const PACKAGES = "api-packages.txt";
const REPORT_INTERVAL = 1000;

/**
 * Builds the API server by Go, unless it is built already. The modules and the results of the compiler are kept in Go's
 * own caches, so that a build after a change takes seconds.
 *
 * @returns the path of the executable
 * @throws Error with one sentence that says what is missing
 */
export async function buildServer({ cache = CACHE, report, env = process.env }: BuildOptions = {}): Promise<string> {
  const there = await builtServer(cache);
  if (there) return there;
  const target = join(resolve(cache), await sourceHash());
  await mkdir(resolve(cache), { recursive: true });
  const unlock = await lockFile(`${target}.lock`, () => report?.("another process builds it"));
  const partial = `${target}.partial`;
  try {
    const other = await builtServer(cache);
    if (other) return other;
    // Only the holder of the lock writes here, so what is left of a killed build can be removed.
    await rm(partial, { recursive: true, force: true });
    await compile(partial, { report, env });
    await rm(target, { recursive: true, force: true });
    await mkdir(target);
    await rename(join(partial, BINARY), join(target, BINARY));
  } finally {
    await rm(partial, { recursive: true, force: true });
    await unlock();
  }
  return join(target, BINARY);
}

async function compile(directory: string, { report, env }: { report: BuildOptions["report"]; env: CommandEnv }) {
  await mkdir(join(directory, "gen"), { recursive: true });
  const files = await sourceFiles(SOURCES);
  await Promise.all(files.map((path) => copyFile(path, join(directory, basename(path)))));
  const go = (...args: string[]): Promise<string> => runGo(args, directory, env, report);
  await go("version");
  report?.("downloading modules");
  // The package must exist before its content is generated.
  await writeFile(join(directory, "gen", "gen.go"), "package gen\n");
  await go("mod", "vendor");
  await trimLibraries(join(directory, "vendor"));
  const packages = (await readFile(join(directory, PACKAGES), "utf8")).trim().split("\n");
  report?.("describing the API");
  await go(
    ...["tool", "openapi-gen", "--output-dir", "gen", "--output-pkg", "istiod.local/tools/cluster/server/gen"],
    ...["--output-file", "openapi.go", "--go-header-file", "/dev/null", "--report-filename", "/dev/null"],
    ...packages,
  );
  const parallel = `-p=${Math.min(4, availableParallelism())}`;
  await go("build", "-v", parallel, `-ldflags=${LINKER_FLAGS}`, "-o", BINARY, ".");
}

async function runGo(args: readonly string[], cwd: string, env: CommandEnv, report: BuildOptions["report"]) {
  let compiled = 0;
  const progress = (): void => {
    if (args[0] === "build") report?.(`compiled ${compiled} packages`);
  };
  const timer = setInterval(progress, REPORT_INTERVAL);
  const { status, output, missing } = await runCommand("go", args, {
    cwd,
    // The committed go.sum decides; a workspace around the repository must not.
    env: { ...env, ...COMPILER_ENV, GOWORK: "off" },
    onLine: () => (compiled += 1),
  }).finally(() => clearInterval(timer));
  if (missing) throw new Error("the API server is built by Go, and there is no go on PATH");
  if (status === 0) return output;
  if (/dial tcp|no such host|TLS handshake timeout|connection refused|proxyconnect/.test(output))
    throw new Error("the Go modules of the API server cannot be downloaded: the module proxy cannot be reached");
  const needed = /requires go >= (\S+)/.exec(output)?.[1];
  if (needed !== undefined) throw new Error(`the API server is built by Go ${needed} or later: ${lastLine(output)}`);
  throw new FailedCommandError(`go ${args[0]}`, output);
}

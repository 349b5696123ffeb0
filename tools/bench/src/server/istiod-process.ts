import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Closers } from "@istiod/runtime";
import type { Address } from "@istiod/xds-server/testing";
import { type LongTurn, longTurnsVariable } from "./long-turns.js";
import type { HeapReport, ProbeRequest } from "./probe.js";

export interface IstiodOptions {
  /** Its `--configDir`. Default: none; then there must be a `kubeconfig`. */
  readonly directory?: string;
  /** Directories of further clusters by ID: its `--clusterDir`. Default: none. */
  readonly clusterDirectories?: Readonly<Record<string, string>>;
  /** File of the cluster to read: its `--kubeconfig`. Default: none. */
  readonly kubeconfig?: string;
  /** Ports of 127.0.0.1: xDS in plaintext or TLS, then debug. Default: any free ones. */
  readonly ports?: readonly [xds: number, http: number] | undefined;
  /**
   * Directory of bearer tokens. If set, istiod serves TLS with certificates of its own root. Default: plaintext.
   */
  readonly tlsTokens?: string | undefined;
  /**
   * Node flags, such as those of a profiler. With any, istiod runs from its modules instead of the bundle, so that a
   * profile shows the file of each function.
   */
  readonly execArgv?: readonly string[];
  /** Serves plaintext xDS on another port in addition to TLS. Default: with `tlsTokens`, TLS only. */
  readonly alsoPlaintext?: boolean;
  /** Limit of V8's old generation in MiB. Default: Node's. */
  readonly maxOldSpaceMiB?: number;
  /** Directory of the CA, kept when istiod stops. Default: a temporary one. */
  readonly caDir?: string;
  /** File of the root certificate that clients trust. Default: that of the self-signed root in the CA's directory. */
  readonly rootFile?: string;
  /** Records long turns of its event loop, which costs a timer of 10 ms. Default: false. */
  readonly recordLongTurns?: boolean;
  /** Script of istiod's command, such as that of another build. Default: the bundle of this workspace. */
  readonly command?: string;
  /** Additional flags of `discovery`, by name without the dashes. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Startup timeout in milliseconds. Default 180,000. */
  readonly readyMs?: number;
}

/** An istiod in a separate process, so that its memory and CPU can be measured. */
export interface IstiodProcess {
  readonly pid: number;
  readonly xds: Address;
  /** The plaintext port in addition to TLS, if `alsoPlaintext` is set; otherwise equal to `xds`. */
  readonly plaintext: Address;
  /** Serves `/metrics` and `/debug`. */
  readonly http: string;
  /** Milliseconds from the start of the process to the ready file. */
  readonly readyMs: number;
  /** Returns memory figures. Requests are sent one at a time. */
  heap(request: ProbeRequest): Promise<HeapReport>;
  /** Returns the long turns of the event loop since the last call, if they are recorded. */
  longTurns(): Promise<readonly LongTurn[]>;
  /** Returns the end of what the process has printed. */
  output(): string;
  /** Kills the process: SIGKILL, without a grace period. */
  kill(): Promise<void>;
  /** Stops the process: SIGTERM, and SIGKILL after a grace period. */
  stop(): Promise<void>;
}

/** Built files, even if this file runs from source. */
const probe = new URL("../../dist/server/probe.js", import.meta.url).href;
const unbundled = fileURLToPath(new URL("../../dist/server/unbundled-istiod.js", import.meta.url));

/**
 * Starts the built apps/istiod, and resolves when it is ready.
 *
 * @throws Error with the end of its output if it exits first or is not ready in time
 */
export async function startIstiod(options: IstiodOptions): Promise<IstiodProcess> {
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const work = await mkdtemp(join(tmpdir(), "istiod-bench-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const [xdsPort, httpPort] = options.ports ?? [await freePort(), await freePort()];
    const plaintextPort = options.alsoPlaintext === true ? await freePort() : undefined;
    const startedAt = performance.now();
    const child = forkIstiod(istiodArguments(options, { work, xdsPort, httpPort, plaintextPort }), options);
    closers.defer(() => stopProcess(child));
    const output = lastOutput(child);
    await untilReady(child, output, join(work, readyFile), options.readyMs ?? 180_000);
    const readyMs = performance.now() - startedAt;
    const { caDir = join(work, "ca"), rootFile = join(caDir, "ca-cert.pem") } = options;
    const tls = options.tlsTokens === undefined ? {} : { tls: await serverTls(rootFile) };
    const requests = oneAtATime((request: ProbeRequest | "turns") => ask(child, output, request));
    const xds = { host: "127.0.0.1", port: xdsPort, ...tls };
    return {
      pid: child.pid ?? 0,
      xds,
      plaintext: plaintextPort === undefined ? xds : { host: "127.0.0.1", port: plaintextPort },
      http: `http://127.0.0.1:${httpPort}`,
      readyMs,
      heap: (request) => requests(request) as Promise<HeapReport>,
      longTurns: () => requests("turns") as Promise<readonly LongTurn[]>,
      output,
      kill: async () => {
        const exit = once(child, "exit");
        child.kill("SIGKILL");
        await exit;
        await closers.close();
      },
      stop: () => closers.close(),
    };
  });
}

const readyFile = "ready";

interface Places {
  /** Directory for the ready file and the CA. */
  readonly work: string;
  readonly xdsPort: number;
  readonly httpPort: number;
  readonly plaintextPort: number | undefined;
}

function istiodArguments(
  { directory = "", clusterDirectories = {}, kubeconfig, tlsTokens, caDir, flags: additional }: IstiodOptions,
  { work, xdsPort, httpPort, plaintextPort }: Places,
): readonly string[] {
  const xds = `127.0.0.1:${xdsPort}`;
  const grpcAddr = plaintextPort === undefined ? "" : `127.0.0.1:${plaintextPort}`;
  const flags = {
    configDir: directory,
    ...(kubeconfig !== undefined && { kubeconfig }),
    meshConfig: "",
    networksConfig: "",
    ...(tlsTokens === undefined
      ? { grpcAddr: xds, secureGRPCAddr: "" }
      : { grpcAddr, secureGRPCAddr: xds, caDir: caDir ?? join(work, "ca"), tokensDir: tlsTokens }),
    httpAddr: `127.0.0.1:${httpPort}`,
    monitoringAddr: "",
    httpsAddr: "",
    shutdownDuration: "0s",
    readyFile: join(work, readyFile),
    log_output_level: "error",
    ...additional,
  };
  const further = Object.entries(clusterDirectories).flatMap(([id, path]) => ["--clusterDir", `${id}=${path}`]);
  return [...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]), ...further];
}

function forkIstiod(
  flags: readonly string[],
  {
    execArgv = [],
    maxOldSpaceMiB,
    recordLongTurns,
    env,
    command = execArgv.length > 0 ? unbundled : bundled(),
  }: Pick<IstiodOptions, "execArgv" | "maxOldSpaceMiB" | "recordLongTurns" | "env" | "command">,
): ChildProcess {
  return fork(command, ["discovery", ...flags], {
    // The limit on new streams is not part of the measurement.
    env: {
      ...process.env,
      PILOT_MAX_REQUESTS_PER_SECOND: "100000",
      ...(recordLongTurns === true && { [longTurnsVariable]: "true" }),
      ...env,
    },
    execArgv: [
      ...execArgv,
      ...(maxOldSpaceMiB === undefined ? [] : [`--max-old-space-size=${maxOldSpaceMiB}`]),
      "--import",
      probe,
    ],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
}

const bundled = (): string =>
  join(dirname(createRequire(import.meta.url).resolve("@istiod/istiod/package.json")), "bin/istiod.js");

/** Reads the output of a process from now on. The function returns the end of it. */
function lastOutput(child: ChildProcess): () => string {
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text: Buffer) => (output = (output + text.toString()).slice(-10_000)));
  return () => output;
}

async function untilReady(child: ChildProcess, output: () => string, file: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!existsSync(file)) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`istiod exited with ${child.exitCode ?? child.signalCode}:\n${output()}`);
    if (performance.now() > deadline) throw new Error(`istiod was not ready after ${timeoutMs} ms:\n${output()}`);
    await wait(20);
  }
}

async function serverTls(rootFile: string): Promise<NonNullable<Address["tls"]>> {
  return { ca: await readFile(rootFile, "utf8"), servername: "istiod.istio-system.svc" };
}

/** Returns a function that calls another only after its previous call has settled. */
function oneAtATime<A, R>(call: (argument: A) => Promise<R>): (argument: A) => Promise<R> {
  let last: Promise<unknown> = Promise.resolve();
  return (argument) => {
    const result = last.then(() => call(argument));
    last = result.catch(() => undefined);
    return result;
  };
}

function ask(child: ChildProcess, output: () => string, request: ProbeRequest | "turns"): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null): void => reject(new Error(`istiod exited with ${code}:\n${output()}`));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      resolve(message);
    });
    child.send(request);
  });
}

/** Milliseconds between SIGTERM and SIGKILL. */
const gracePeriodMs = 5_000;

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), gracePeriodMs);
  await exit;
  clearTimeout(kill);
}

/** Returns a port of 127.0.0.1 that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

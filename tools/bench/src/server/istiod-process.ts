import { type ChildProcess, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Address } from "@istiod/xds-server/testing";
import type { HeapReport, ProbeRequest } from "./probe.js";

export interface IstiodOptions {
  /** Its `--configDir`. */
  readonly directory: string;
  /** Ports of 127.0.0.1: xDS in plaintext or TLS, then debug. Default: any free ones. */
  readonly ports?: readonly [xds: number, http: number] | undefined;
  /**
   * Serves TLS, with certificates and root of its own, and takes bearer tokens from this directory. Default: plaintext.
   */
  readonly tlsTokens?: string | undefined;
  /**
   * Flags for Node, such as those of a profiler; with any, it runs from its modules and not from the bundle, so that
   * functions can be told apart by file.
   */
  readonly execArgv?: readonly string[];
  /** Longest wait until it is ready, in milliseconds. Default 180,000. */
  readonly readyMs?: number;
}

/** An istiod in a process of its own, so that its memory and CPU are its own. */
export interface IstiodProcess {
  readonly pid: number;
  readonly xds: Address;
  /** Serves `/metrics` and `/debug`. */
  readonly http: string;
  /** Milliseconds from the start of the process to the ready file. */
  readonly readyMs: number;
  heap(request: ProbeRequest): Promise<HeapReport>;
  /** Ends it, gracefully at first. */
  stop(): Promise<void>;
}

/** As built, also where this file itself runs from source. */
const probe = new URL("../../dist/server/probe.js", import.meta.url).href;
const unbundled = fileURLToPath(new URL("../../dist/server/unbundled-istiod.js", import.meta.url));

/**
 * Starts apps/istiod as built, and resolves when it serves.
 *
 * @throws Error with what it wrote if it ends before
 */
export async function startIstiod({
  directory,
  ports,
  tlsTokens,
  execArgv = [],
  readyMs = 180_000,
}: IstiodOptions): Promise<IstiodProcess> {
  const own = await mkdtemp(join(tmpdir(), "istiod-bench-"));
  const readyFile = join(own, "ready");
  const [xdsPort, httpPort] = ports ?? [await freePort(), await freePort()];
  const xds = `127.0.0.1:${xdsPort}`;
  const tls =
    tlsTokens === undefined
      ? ["--grpcAddr", xds, "--secureGRPCAddr", ""]
      : ["--grpcAddr", "", "--secureGRPCAddr", xds, "--caDir", join(own, "ca"), "--tokensDir", tlsTokens];
  const flags = [
    "--configDir",
    directory,
    "--meshConfig",
    "",
    "--networksConfig",
    "",
    ...tls,
    "--httpAddr",
    `127.0.0.1:${httpPort}`,
    "--monitoringAddr",
    "",
    "--httpsAddr",
    "",
    "--shutdownDuration",
    "0s",
    "--readyFile",
    readyFile,
    "--log_output_level",
    "error",
  ];
  const begun = performance.now();
  const child = fork(
    execArgv.length > 0
      ? unbundled
      : join(dirname(createRequire(import.meta.url).resolve("@istiod/istiod/package.json")), "bin/istiod.js"),
    ["discovery", ...flags],
    {
      // How many streams are let in a second is not what is measured.
      env: { ...process.env, PILOT_MAX_REQUESTS_PER_SECOND: "100000" },
      execArgv: [...execArgv, "--import", probe],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    },
  );
  let written = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text: Buffer) => (written = (written + text.toString()).slice(-10_000)));
  const stop = async (): Promise<void> => {
    await ended(child);
    await rm(own, { recursive: true, force: true });
  };
  try {
    while (!existsSync(readyFile)) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`istiod ended with ${child.exitCode ?? child.signalCode}:\n${written}`);
      if (performance.now() - begun > readyMs) throw new Error(`istiod was not ready after ${readyMs} ms:\n${written}`);
      await wait(20);
    }
    const address = { host: "127.0.0.1", port: xdsPort };
    let last: Promise<unknown> = Promise.resolve();
    return {
      pid: child.pid ?? 0,
      xds:
        tlsTokens === undefined
          ? address
          : {
              ...address,
              tls: {
                ca: await readFile(join(own, "ca", "ca-cert.pem"), "utf8"),
                servername: "istiod.istio-system.svc",
              },
            },
      http: `http://127.0.0.1:${httpPort}`,
      readyMs: performance.now() - begun,
      heap(request) {
        const asked = last.then(() => ask(child, request));
        last = asked.catch(() => undefined);
        return asked;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function ask(child: ChildProcess, request: ProbeRequest): Promise<HeapReport> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null): void => reject(new Error(`istiod ended with ${code}`));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      resolve(message as HeapReport);
    });
    child.send(request);
  });
}

const patienceMs = 5_000;

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  await exit;
  clearTimeout(kill);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

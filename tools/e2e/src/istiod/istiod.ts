import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { flagDefaults, startDiscovery } from "@istiod/istiod";
import { pino } from "pino";
import { eventually } from "../eventually.js";

/** Addresses, files and environment of an istiod. */
export interface IstiodPlaces {
  /** The address that it listens on, with the default ports. */
  readonly address: string;
  /** Loopback address of the debug interface. Default: `address`. */
  readonly debugAddress?: string;
  /** The directory of YAML that it watches. */
  readonly config: string;
  /** The directory of the CA root, the tokens and the mesh configuration. */
  readonly work: string;
  /** Directory of the last good versions of policies. Default: none. */
  readonly stateDir?: string;
  /** Directory of a plugged-in CA. Default: a self-signed root in `work`. */
  readonly pluggedInCa?: string;
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The fields of an istiod log line that tests read. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly proxy?: string;
  /** A type URL. */
  readonly type?: string;
  /** The number of resources pushed, or the names of those rejected. */
  readonly resources?: number | readonly string[];
}

/** A running control plane. */
export interface Istiod {
  readonly lines: readonly LogLine[];
  /** Closes an in-process istiod; kills a process by SIGKILL. */
  kill(): Promise<void>;
}

/** An istiod that can be killed and started again with the same addresses and files. */
export class RestartableIstiod {
  readonly address: string;
  readonly #start: () => Promise<Istiod>;
  #running: Istiod | undefined;

  constructor(places: IstiodPlaces, start: (places: IstiodPlaces) => Promise<Istiod>) {
    this.address = places.address;
    this.#start = () => start(places);
  }

  /** Log lines since the last start; none while it is not running. */
  get lines(): readonly LogLine[] {
    return this.#running?.lines ?? [];
  }

  async start(): Promise<void> {
    this.#running = await this.#start();
  }

  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
  }
}

const program = join(
  dirname(createRequire(import.meta.url).resolve("@istiod/istiod/package.json")),
  "bin",
  "istiod.js",
);

/** On a loaded machine, loading the program alone takes many seconds. */
const startMs = 120_000;

/** Returns the reason why istiod cannot run as a process of its own; undefined if it can. */
export function whyNoProcess(): string | undefined {
  return existsSync(join(dirname(program), "../bundle/main.js")) ? undefined : "istiod is not built: npm run build";
}

function values({
  address,
  debugAddress = address,
  config,
  work,
  stateDir = "",
}: IstiodPlaces): Record<string, string> {
  return {
    configDir: config,
    meshConfig: join(work, "mesh.yaml"),
    networksConfig: "",
    grpcAddr: `${address}:15010`,
    secureGRPCAddr: `${address}:15012`,
    httpAddr: `${debugAddress}:8080`,
    monitoringAddr: `${address}:15014`,
    httpsAddr: "",
    stateDir,
    caDir: join(work, "ca"),
    tokensDir: join(work, "tokens"),
    log_output_level: "debug",
  };
}

function environment({ pluggedInCa, env }: IstiodPlaces): Record<string, string> {
  return {
    PILOT_DEBOUNCE_AFTER: "20ms",
    ...(pluggedInCa === undefined ? {} : { ROOT_CA_DIR: pluggedInCa }),
    ...env,
  };
}

/** Returns the file of the root certificates of an istiod's CA. */
export function rootFile({ work, pluggedInCa }: IstiodPlaces): string {
  return pluggedInCa === undefined ? join(work, "ca", "ca-cert.pem") : join(pluggedInCa, "root-cert.pem");
}

/** Starts istiod in this process, and resolves when it is ready. */
export async function startIstiodInProcess(places: IstiodPlaces): Promise<Istiod> {
  const lines: LogLine[] = [];
  const log = pino(
    { level: "debug", base: null, formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) },
  );
  const discovery = await startDiscovery(
    { ...flagDefaults({}), ...values(places), shutdownDuration: 1000 },
    environment(places),
    log,
    "0.1.0",
  );
  return { lines, kill: () => discovery.close() };
}

/** Starts istiod as a process of its own, and resolves when it is ready. */
export async function startIstiodProcess(places: IstiodPlaces): Promise<Istiod> {
  const args = Object.entries({ ...values(places), shutdownDuration: "1s" }).flatMap(([name, value]) => [
    `--${name}`,
    value,
  ]);
  const child = spawn(process.execPath, [program, "discovery", ...args], {
    cwd: places.work,
    env: { PATH: process.env["PATH"], ...environment(places) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: LogLine[] = [];
  createInterface(child.stdout).on(
    "line",
    (line) => void (line.startsWith("{") && lines.push(JSON.parse(line) as LogLine)),
  );
  const exited = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  const atExit = (): void => void child.kill("SIGKILL");
  process.once("exit", atExit);
  await eventually(
    "istiod is ready",
    async () => {
      if (child.exitCode !== null) throw new Error(`istiod ended with ${child.exitCode}`);
      return (await fetch(`http://${places.debugAddress ?? places.address}:8080/ready`)).ok;
    },
    startMs,
  );
  return {
    lines,
    kill: async () => {
      process.off("exit", atExit);
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Returns the rejected resources in istiod's log, one line for each NACK. */
export function refusalsIn(lines: readonly LogLine[]): string[] {
  return lines
    .filter((l) => l.msg.startsWith("rejected by the proxy"))
    .map((l) => `${l.proxy}: ${JSON.stringify(l.resources)}: ${l.msg}`);
}

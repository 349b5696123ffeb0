import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Closers } from "@istiod/runtime";
import { stringify } from "yaml";
import { eventually } from "./eventually.js";

/** The path to which `npm run prometheus:install` unpacks it. */
const unpacked = fileURLToPath(new URL("../build/usr/bin/prometheus", import.meta.url));

/** Returns the command of Prometheus: of this machine, else the unpacked one; undefined if there is none. */
function findPrometheus(): string | undefined {
  return ["prometheus", unpacked].find(
    (command) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0,
  );
}

/** Returns the reason why Prometheus cannot be started on this machine; undefined if it can. */
export function whyNoPrometheus(): string | undefined {
  return findPrometheus() === undefined ? "no Prometheus: run `npm run prometheus:install`" : undefined;
}

/** A series of a result, with its value; NaN if it is not a number. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A running Prometheus. */
export interface Prometheus {
  /** Evaluates an expression now. @throws Error with Prometheus's reason if it is invalid */
  query(expression: string): Promise<readonly Series[]>;
}

/** An endpoint that Prometheus scrapes: `host:port`, with labels. */
export interface ScrapedTarget {
  readonly address: string;
  /** Default: `/metrics`. */
  readonly path?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Starts a Prometheus that scrapes every second, with its data in a directory, and ends it with the closers.
 *
 * @param rules path of a file of rules
 * @throws Error if there is none; call {@link whyNoPrometheus} first
 */
export async function startPrometheus(
  directory: string,
  targets: readonly ScrapedTarget[],
  closers: Closers,
  rules?: string,
): Promise<Prometheus> {
  const command = findPrometheus();
  if (command === undefined) throw new Error("no Prometheus: call whyNoPrometheus() first");
  const configuration = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    ...(rules === undefined ? {} : { rule_files: [rules] }),
    scrape_configs: targets.map(({ address, path = "/metrics", labels = {} }, n) => ({
      job_name: `job-${n}`,
      metrics_path: path,
      static_configs: [{ targets: [address], labels }],
    })),
  };
  const file = join(directory, "prometheus.yml");
  await writeFile(file, stringify(configuration));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    command,
    [`--config.file=${file}`, `--storage.tsdb.path=${join(directory, "data")}`, `--web.listen-address=${address}`],
    { stdio: "ignore" },
  );
  closers.defer(() => ended(child));
  await eventually("Prometheus is ready", async () => (await fetch(`http://${address}/-/ready`)).ok, 60_000, 100);
  return { query: (expression) => query(address, expression) };
}

async function query(address: string, expression: string): Promise<readonly Series[]> {
  const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const { status, error, data } = (await response.json()) as {
    readonly status: string;
    readonly error?: string;
    readonly data?: {
      readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
    };
  };
  if (status !== "success") throw new Error(`${expression}: ${error}`);
  return (data?.result ?? []).map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exited;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

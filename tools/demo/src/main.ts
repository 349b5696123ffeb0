import { mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { obtainEnvoy } from "./envoy.js";
import { istiodClient } from "./istiod-client.js";
import { Lifecycle } from "./lifecycle.js";
import { issueTokens, logDirectory, type Places, startIstiod } from "./mesh.js";
import { type DemoOptions, readOptions, usage } from "./options.js";
import { choosePorts, type Ports } from "./ports.js";
import type { StartProgress } from "./progress.js";
import { labeled, Screen, shownPath } from "./screen.js";
import { serveConfig } from "./served-config.js";
import { watchMesh } from "./watch-mesh.js";
import { readWorkloads, type Workload } from "./workload.js";
import { startWorkloads } from "./workloads.js";

export interface MainOptions {
  /** The repository's root directory. */
  readonly root: string;
  readonly args: readonly string[];
  readonly startProgress: StartProgress;
}

/**
 * Runs the demo until it is interrupted.
 *
 * @throws Error that names an option that is missing or invalid
 */
export async function main({ root, args, startProgress }: MainOptions): Promise<void> {
  const options = readOptions(args);
  if (!options) return void process.stdout.write(usage());
  const lifecycle = new Lifecycle();
  try {
    await run(root, options, startProgress, lifecycle);
  } catch (error) {
    await lifecycle.fail(error instanceof Error ? error.message : String(error));
  }
}

async function run(
  root: string,
  options: DemoOptions,
  startProgress: StartProgress,
  lifecycle: Lifecycle,
): Promise<void> {
  const screen = new Screen();
  const config = configDirectory(root, options);
  const workloads = await readWorkloads(await flatDirectory(config));
  const envoy = await obtainEnvoy(startProgress);
  const ports = await choosePorts(options.portOffset, "path" in envoy ? workloads : []);
  const work = join(root, "build", ports.offset === 0 ? "demo" : `demo-${ports.offset}`);
  await mkdir(work, { recursive: true });
  const served = await serveConfig(config, ports.offset, join(work, "config"));
  const places: Places = { config: served.directory, work, ports };
  await issueTokens(places, workloads);

  const progress = startProgress("starting … ");
  try {
    await startControlPlane(places, lifecycle);
    if ("path" in envoy)
      await startWorkloads({ workloads, places, envoy: envoy.path, accessLog: options.accessLog, lifecycle, screen });
  } finally {
    progress.stop();
  }
  screen.say(controlPlaneAddresses(ports));
  if ("path" in envoy) for (const workload of workloads) screen.say(workloadAddress(workload, ports));
  else
    screen.say(`\n${envoy.reason}. ENVOY_PATH names another one.\nistiod serves ${shownPath(config)} without proxies.`);
  const requests = "path" in envoy ? "; one line a request in NAME.access.log" : "";
  screen.say(labeled("logs", `${shownPath(logDirectory(places))}${requests}`));
  await watchMesh({
    config,
    served,
    istiod: istiodClient(ports.http),
    gateway: "path" in envoy ? workloads.find((w) => w.role === "router") : undefined,
    ports,
    lifecycle,
    screen,
  });
}

function configDirectory(root: string, { config }: DemoOptions): string {
  return config === undefined ? join(root, "samples", "bookinfo") : resolve(process.env["INIT_CWD"] ?? ".", config);
}

async function startControlPlane(places: Places, lifecycle: Lifecycle): Promise<void> {
  const istiod = await startIstiod(places);
  await lifecycle.add(istiod);
  void istiod.ended.then(() =>
    lifecycle.fail(`istiod ended by itself; see ${join(logDirectory(places), "istiod.log")}`),
  );
}

function controlPlaneAddresses({ xds, secure, http, monitoring }: Ports): string {
  return labeled(
    "istiod",
    `xDS 127.0.0.1:${xds} (plaintext), :${secure} (TLS); status page http://127.0.0.1:${http}/; metrics http://127.0.0.1:${monitoring}/metrics`,
  );
}

function workloadAddress({ name, address, role }: Workload, ports: Ports): string {
  const [label, port] = role === "router" ? ["gateway", ports.gateway] : ["workload", ports.service];
  return labeled(label, `${name.padEnd(15)} ${address}:${port}`);
}

async function flatDirectory(config: string): Promise<string> {
  const entries = await readdir(config, { withFileTypes: true }).catch((error: Error) => {
    throw new Error(`--config: ${error.message}`, { cause: error });
  });
  const folder = entries.find((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  if (folder)
    throw new Error(
      `--config: ${join(config, folder.name)} is a directory; the demo reads files of one directory only`,
    );
  return config;
}

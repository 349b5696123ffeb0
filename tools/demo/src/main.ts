import { mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { obtainEnvoy } from "./envoy.js";
import { istiodClient } from "./istiod-client.js";
import { Lifecycle } from "./lifecycle.js";
import { issueTokens, logDirectory, type Places, startIstiod } from "./mesh.js";
import { type DemoOptions, readOptions, usage } from "./options.js";
import { choosePorts } from "./ports.js";
import { labeled, Screen, shownPath } from "./screen.js";
import { serveConfig } from "./served-config.js";
import { watchMesh } from "./watch-mesh.js";
import { readWorkloads } from "./workload.js";
import { startWorkloads } from "./workloads.js";

/** Shows that a step takes its time. */
export type StartProgress = (what: string) => { detail(text: string): void; stop(): void };

export interface MainOptions {
  /** The repository. */
  readonly root: string;
  readonly args: readonly string[];
  readonly startProgress: StartProgress;
}

/**
 * Runs the demo until it is told to end. @throws Error with one sentence about what is missing or wrong on the command
 * line
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
  const config =
    options.config === undefined
      ? join(root, "samples", "bookinfo")
      : resolve(process.env["INIT_CWD"] ?? ".", options.config);
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
    const istiod = await startIstiod(places);
    await lifecycle.add(istiod);
    void istiod.ended.then(() =>
      lifecycle.fail(`istiod ended by itself; see ${join(logDirectory(places), "istiod.log")}`),
    );
    if ("path" in envoy)
      await startWorkloads({ workloads, places, envoy: envoy.path, accessLog: options.accessLog, lifecycle, screen });
  } finally {
    progress.stop();
  }
  screen.say(
    labeled(
      "istiod",
      `xDS 127.0.0.1:${ports.xds} (plaintext), :${ports.secure} (TLS); status page http://127.0.0.1:${ports.http}/; metrics http://127.0.0.1:${ports.monitoring}/metrics`,
    ),
  );
  if ("path" in envoy)
    for (const { name, address, role } of workloads)
      screen.say(
        labeled(
          role === "router" ? "gateway" : "workload",
          `${name.padEnd(15)} ${address}:${role === "router" ? ports.gateway : ports.service}`,
        ),
      );
  else
    screen.say(`\n${envoy.reason}. ENVOY_PATH names another one.\nistiod serves ${shownPath(config)} without proxies.`);
  const requests = "path" in envoy ? "; one line a request in NAME.access.log" : "";
  screen.say(labeled("logs", `${shownPath(logDirectory(places))}${requests}`));
  await watchMesh({
    config,
    served,
    read: istiodClient(ports.http),
    gateway: "path" in envoy ? workloads.find((w) => w.role === "router") : undefined,
    ports,
    lifecycle,
    screen,
  });
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

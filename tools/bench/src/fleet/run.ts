import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { ChangeReport } from "@istiod/push-report";
import type { Variant } from "@istiod/xds-server";
import { change } from "../mesh/changes.js";
import { apply, writeObjects } from "../mesh/directory.js";
import { Mesh, type MeshOptions } from "../mesh/mesh.js";
import { nodeOf, type ProxyPlace } from "../mesh/proxies.js";
import { perfFlags, record } from "../profile/perf.js";
import { type IstiodProcess, startIstiod } from "../server/istiod-process.js";
import { selfReport, type SelfReport } from "../server/self-report.js";
import { cpuSeconds, memory, resetPeak } from "../server/usage.js";
import { mismatches, reportedChange } from "./comparison.js";
import { type Fleet, startFleet } from "./parts.js";
import type { Step } from "./script.js";
import { quantile, type RunReport, type StepReport } from "./step-report.js";
import { type Tokens, writeTokens } from "./tokens.js";
import { totalOf } from "./traffic.js";

/** An istiod that was started elsewhere. */
export interface RunningIstiod extends Pick<IstiodProcess, "pid" | "xds" | "http"> {
  /** Its configuration directory, empty. The mesh is written into it. */
  readonly directory: string;
}

export interface RunOptions {
  readonly mesh: MeshOptions;
  readonly variant: Variant;
  readonly script: readonly Step[];
  /** Threads that simulate the proxies; 0: the caller's thread. Default 1. */
  readonly threads?: number;
  /** Uses TLS, with a bearer token for each service account. Default false. */
  readonly tls?: boolean;
  /** Lets the proxies accept compressed responses. Default false. */
  readonly gzip?: boolean;
  readonly ports?: readonly [xds: number, http: number] | undefined;
  /** Default: a new istiod. */
  readonly istiod?: RunningIstiod | undefined;
  /** Profiles istiod with Linux `perf` in each step. Default false. */
  readonly profile?: boolean;
  /** Time without traffic or computation after which a step ends. Default 1,000 ms. */
  readonly quietMs?: number;
  /** Minimum length of a step. Default 2,000 ms. */
  readonly minWaitMs?: number;
  /** Length of the step `idle`. Default 10,000 ms. */
  readonly idleMs?: number;
  /** Timeout of a step. Default 300,000 ms. */
  readonly stepMs?: number;
  readonly onStep?: (step: StepReport) => void;
}

/** Serves a mesh to a fleet, and measures the cost of each change of a script. */
export async function runFleet(options: RunOptions): Promise<RunReport> {
  if (options.script.some(({ name }) => name === "restart") && (options.tls === true || options.istiod !== undefined)) {
    throw new Error(
      "restart: only of an istiod that was started here, and in plaintext, as a new one would have another root",
    );
  }
  const root = await mkdtemp(join(tmpdir(), "istiod-fleet-"));
  let istiod: IstiodProcess | undefined;
  let fleet: Fleet | undefined;
  try {
    const mesh = new Mesh(options.mesh);
    const places = mesh.proxies();
    const directory = options.istiod?.directory ?? join(root, "mesh");
    await writeObjects(directory, mesh.objects());
    await writeFile(join(root, "proxies.json"), JSON.stringify(places));
    const tokens = options.tls === true ? await writeTokens(join(root, "tokens"), places) : undefined;
    const start = async (ports = options.ports): Promise<IstiodProcess> =>
      (istiod = await startIstiod({
        directory,
        ports,
        tlsTokens: tokens?.directory,
        execArgv: options.profile === true ? perfFlags : [],
      }));
    const server = options.istiod ?? (await start());
    if (options.istiod !== undefined) await ready(server.http);
    const ready0 = { ms: istiod?.readyMs, cpuSeconds: cpuSeconds(server.pid), rss: memory(server.pid).rss };
    fleet = startFleet(
      {
        target: server.xds,
        variant: options.variant,
        members: places.map((place) => memberOf(place, tokens, options.gzip)),
      },
      options.threads ?? 1,
    );
    const steps: StepReport[] = [];
    const again = async (): Promise<IstiodProcess> => {
      await istiod?.stop();
      return start([server.xds.port, Number(new URL(server.http).port)]);
    };
    const run = new Run(options, mesh, directory, server, again, fleet);
    for (const step of options.script) {
      const report = await run.step(step);
      steps.push(report);
      options.onStep?.(report);
    }
    return {
      mesh: options.mesh,
      variant: options.variant,
      proxies: places.length,
      threads: options.threads ?? 1,
      tls: options.tls ?? false,
      ready: ready0,
      steps,
    };
  } finally {
    await fleet?.close();
    await istiod?.stop();
    await rm(root, { recursive: true, force: true });
  }
}

function memberOf(
  place: ProxyPlace,
  tokens: Tokens | undefined,
  gzip = false,
): { node: Uint8Array; headers: Record<string, string> } {
  return {
    node: toBinary(NodeSchema, nodeOf(place)),
    headers: {
      ...(tokens && { authorization: `Bearer ${tokens.of(place)}` }),
      ...(gzip && { "grpc-accept-encoding": "gzip" }),
    },
  };
}

async function ready(http: string): Promise<void> {
  for (const until = Date.now() + 180_000; ; await wait(100)) {
    if (
      await fetch(new URL("/ready", http)).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    if (Date.now() > until) throw new Error(`${http}: not ready after 3 minutes`);
  }
}

/** CPU usage over half a second, in cores, below which istiod counts as idle. */
const idleCores = 0.3;
/**
 * Timeout in milliseconds until a change has been read and committed, generous because other processes may use the CPU.
 */
const commitMs = 20_000;

class Run {
  readonly #options: RunOptions;
  readonly #mesh: Mesh;
  readonly #directory: string;
  readonly #again: () => Promise<IstiodProcess>;
  #server: Pick<IstiodProcess, "pid" | "xds" | "http">;
  readonly #fleet: Fleet;
  readonly #self: SelfReport;

  constructor(
    options: RunOptions,
    mesh: Mesh,
    directory: string,
    server: Pick<IstiodProcess, "pid" | "xds" | "http">,
    again: () => Promise<IstiodProcess>,
    fleet: Fleet,
  ) {
    this.#options = options;
    this.#mesh = mesh;
    this.#directory = directory;
    this.#server = server;
    this.#again = again;
    this.#fleet = fleet;
    this.#self = selfReport(server.http);
  }

  async step(step: Step): Promise<StepReport> {
    const restarted = step.name === "restart" ? await this.#restart() : "";
    const { pid } = this.#server;
    const connecting = step.name === "connect" || step.name === "reconnect" || step.name === "restart";
    const countersBefore = await this.#self.counters();
    const revision = (await this.#self.changes(-1)).at(-1)?.revision ?? -1;
    await this.#fleet.do({ do: "reset", connecting });
    const peakIsExact = resetPeak(pid);
    const before = memory(pid).rss;
    const [cpu, own, begun] = [cpuSeconds(pid), process.cpuUsage(), performance.now()];
    const recording = this.#options.profile === true ? await record(pid) : undefined;
    const { what, at: origin } = await this.#begin(step);
    let timedOut = false;
    let serverCpu: number;
    let reports: readonly ChangeReport[] | undefined;
    const stepMs = this.#options.stepMs ?? 300_000;
    for (;;) {
      if (step.name === "idle") await wait(this.#options.idleMs ?? 10_000);
      else timedOut = await this.#settle(begun, connecting);
      serverCpu = cpuSeconds(pid) - cpu;
      if (!("index" in step)) break;
      reports = await this.#self.changes(revision);
      const isAnswered =
        reports.every(({ pending }) => pending === 0) &&
        (reports.length > 0 || step.name === "metadata" || performance.now() - begun > commitMs);
      if (isAnswered || timedOut || performance.now() - begun > stepMs) break;
    }
    const wallMs = performance.now() - begun;
    const { user, system } = process.cpuUsage(own);
    const { rss: after, peak } = memory(pid);
    const profile = await recording?.stop();
    const seen = await this.#fleet.report();
    const counted = { before: countersBefore, after: await this.#self.counters() };
    const change = reports && reportedChange(reports);
    const acks = seen.lastAcksAt.map((ackAt) => ackAt - origin).sort((a, b) => a - b);
    const since = (time: number | undefined): number | undefined => (time === undefined ? undefined : time - origin);
    return {
      name: step.name,
      ...("index" in step && { index: step.index }),
      what: restarted + what,
      touched: seen.touched,
      types: seen.types,
      total: totalOf(seen.types),
      requests: seen.requests,
      serverCpuSeconds: serverCpu,
      ownCpuSeconds: (user + system) / 1e6,
      firstResponseMs: since(seen.firstResponseAt),
      lastAckMs:
        acks.length === 0 ? undefined : { p50: quantile(acks, 0.5), p90: quantile(acks, 0.9), max: quantile(acks, 1) },
      rss: { before, peak, after, peakIsExact },
      wallMs,
      load: loadavg()[0] ?? 0,
      timedOut,
      broken: seen.broken,
      incomplete: seen.incomplete,
      ...(change && {
        istiod: { ...change, firstAckMs: since(change.firstAckAt), lastAckMs: since(change.lastAckAt) },
      }),
      ...(profile && { profile }),
      mismatches: mismatches(seen, counted, change, this.#fleet.size),
    };
  }

  /**
   * Restarts istiod while the proxies keep their resources. Returns a description of the time and CPU until it was
   * ready.
   */
  async #restart(): Promise<string> {
    await this.#fleet.do({ do: "drop" });
    const { pid, readyMs } = (this.#server = await this.#again());
    return `istiod ready again after ${(readyMs / 1000).toFixed(1)} s with ${cpuSeconds(pid).toFixed(1)} CPU s; `;
  }

  async #begin(step: Step): Promise<{ readonly what: string; readonly at: number }> {
    const now = (): number => performance.timeOrigin + performance.now();
    if (step.name === "reconnect") await this.#fleet.do({ do: "drop" });
    if (!("index" in step) && step.name !== "idle") {
      const at = now();
      await this.#fleet.do({ do: "connect" });
      return { what: `${this.#fleet.size} proxies at once`, at };
    }
    if (!("index" in step)) return { what: "nothing", at: now() };
    const made = change(this.#mesh, step.name, step.index);
    return { what: made.what, at: await apply(this.#directory, made) };
  }

  /** Waits until traffic has stopped. Returns true on timeout. */
  async #settle(begun: number, connecting: boolean): Promise<boolean> {
    const { quietMs = 1000, minWaitMs = 2000, stepMs = 300_000 } = this.#options;
    const samples: { readonly at: number; readonly cpu: number }[] = [];
    for (;;) {
      await wait(50);
      const now = performance.now();
      samples.push({ at: now, cpu: cpuSeconds(this.#server.pid) });
      while (samples.length > 1 && now - (samples[0]?.at ?? 0) > 500) samples.shift();
      const [oldest, latest] = [samples[0], samples.at(-1)];
      const cores =
        oldest !== undefined && latest !== undefined && latest.at > oldest.at
          ? ((latest.cpu - oldest.cpu) * 1000) / (latest.at - oldest.at)
          : 1;
      const { activeAt, complete } = this.#fleet.progress();
      if (now - begun > stepMs) return true;
      const isQuiet = performance.timeOrigin + now - activeAt >= quietMs && cores < idleCores;
      if (now - begun >= minWaitMs && isQuiet && (!connecting || complete === this.#fleet.size)) return false;
    }
  }
}

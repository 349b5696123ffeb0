import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Closers } from "@istiod/runtime";
import type { Variant } from "@istiod/xds-server";
import { writeTokens } from "../fleet/tokens.js";
import type { KubernetesObject } from "../mesh/objects.js";
import { type IstiodProcess, startIstiod } from "../server/istiod-process.js";
import type { LongTurn } from "../server/long-turns.js";
import { cpuSeconds, memory } from "../server/usage.js";
import type { Dimension, ScaleMesh } from "./dimension.js";
import type { EnvoyVerdict, JudgeByEnvoy } from "./envoy-judge.js";
import { ScaleProxy, type Traffic } from "./scale-proxy.js";
import { changedObject, clusterSource, fileSource, type ScaleSource, type SourceKind } from "./source.js";

/** Traffic and CPU seconds of istiod for it. */
export interface Exchange extends Readonly<Traffic> {
  readonly cpuSeconds: number;
}

/** Responses to a proxy of one variant. */
export interface VariantFigures {
  readonly first: Exchange;
  readonly change: Exchange;
}

/** A mesh of one size, measured. */
export interface Step {
  readonly dimension: string;
  readonly size: number;
  readonly source: SourceKind;
  /** CPU seconds of istiod until it is idle after its start. */
  readonly startCpuSeconds: number;
  readonly delta?: VariantFigures;
  readonly sotw?: VariantFigures;
  /** In bytes. */
  readonly peakRss: number;
  /** Longest turn of istiod's event loop until it was idle after its start, in milliseconds of CPU. */
  readonly startTurnMs: number;
  /** Longest turn after it, while `/ready` must be answered. */
  readonly longestTurnMs: number;
  readonly envoy: EnvoyVerdict;
  /** Differences from what is expected. */
  readonly faults: readonly string[];
  /** Logged reason for the rejection of the growing object. */
  readonly refusal?: string;
}

export interface StepOptions {
  readonly source: SourceKind;
  readonly size: number;
  readonly timeoutMs: number;
  /** A real Envoy, if there is one. */
  readonly envoy?: JudgeByEnvoy;
}

/** Serves a mesh of one size to a proxy of each variant, and measures what it costs. */
export async function measureStep(dimension: Dimension, options: StepOptions): Promise<Step> {
  const closers = new Closers();
  try {
    const mesh = await dimension.mesh(options.size);
    const work = await mkdtemp(join(tmpdir(), "istiod-scale-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const source = await (options.source === "files" ? fileSource : clusterSource)(mesh, work);
    closers.defer(() => source.close());
    const tokens = dimension.hasSecrets === true ? await writeTokens(join(work, "tokens"), [mesh.proxy]) : undefined;
    const istiod = await startIstiod({
      ...source.istiod,
      ...(tokens && { tlsTokens: tokens.directory }),
      // Findings name objects, too, but do not reject them.
      flags: { ...source.istiod.flags, log_output_level: "default:error,analysis:none" },
      recordLongTurns: true,
    });
    closers.defer(() => istiod.stop());
    return await measureRunning(dimension, options, { mesh, source, istiod, token: tokens?.of(mesh.proxy) });
  } finally {
    await closers.close();
  }
}

interface Running {
  readonly mesh: ScaleMesh;
  readonly source: ScaleSource;
  readonly istiod: IstiodProcess;
  readonly token: string | undefined;
}

async function measureRunning(
  { name, toEnvoy = Infinity }: Dimension,
  { source, size, timeoutMs, envoy }: StepOptions,
  running: Running,
): Promise<Step> {
  const { istiod, mesh } = running;
  await untilIdle(istiod.pid);
  const startCpuSeconds = cpuSeconds(istiod.pid);
  const startTurnMs = longest(await istiod.longTurns());
  const faults: string[] = [];
  const figures: Partial<Record<Variant, VariantFigures>> = {};
  let verdict: EnvoyVerdict = { outcome: "not asked" };
  const original = changedObject(mesh);
  for (const variant of ["delta", "sotw"] as const) {
    const isDelta = variant === "delta";
    const before = { object: original, expected: mesh.expected };
    const after = { object: mesh.change, expected: mesh.expectedAfterChange };
    const [from, to] = isDelta ? [before, after] : [after, before];
    const extensions = envoy?.extensions ?? [];
    const { token } = running;
    const proxy = new ScaleProxy(mesh, {
      address: istiod.xds,
      variant,
      extensions,
      timeoutMs,
      ...(token !== undefined && { token }),
    });
    try {
      figures[variant] = await measureVariant(running, proxy, { from, to }, (fault) =>
        faults.push(`${variant}: ${fault}`),
      );
      if (isDelta && envoy !== undefined && size <= toEnvoy) verdict = await envoy.judge(proxy.resources);
    } catch (error) {
      faults.push(`${variant}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      proxy.close();
    }
    if (faults.length > 0) break;
  }
  const refusal = faults.length > 0 ? refusalOf(istiod.output(), original) : undefined;
  return {
    dimension: name,
    size,
    source,
    startCpuSeconds,
    ...figures,
    peakRss: memory(istiod.pid).peak,
    startTurnMs,
    longestTurnMs: longest(await istiod.longTurns()),
    envoy: verdict,
    faults: refusal === undefined ? faults : [],
    ...(refusal !== undefined && { refusal }),
  };
}

/** Time without a CPU is not counted: it is the machine's. */
const longest = (turns: readonly LongTurn[]): number =>
  Math.max(0, ...turns.map(({ ms, ranMs = ms }) => Math.min(ms, ranMs)));

interface State {
  readonly object: KubernetesObject;
  readonly expected: readonly string[];
}

async function measureVariant(
  { mesh, source, istiod }: Running,
  proxy: ScaleProxy,
  { from, to }: { readonly from: State; readonly to: State },
  report: (fault: string) => void,
): Promise<VariantFigures> {
  const isRefused = (): boolean => refusalOf(istiod.output(), changedObject(mesh)) !== undefined;
  const exchange = async (work: () => Promise<void>, expected: readonly string[]): Promise<Exchange> => {
    await untilIdle(istiod.pid);
    const before = cpuSeconds(istiod.pid);
    await work();
    for (const difference of await proxy.arrived(expected, isRefused)) report(difference);
    await untilIdle(istiod.pid);
    return { ...proxy.traffic(), cpuSeconds: cpuSeconds(istiod.pid) - before };
  };
  const first = await exchange(() => proxy.connected(), from.expected);
  const change = await exchange(() => source.apply(to.object), to.expected);
  proxy.config.decodeAll();
  return { first, change };
}

const idleIntervalMs = 200;
const longestIdleWaitMs = 60_000;

/** Waits until a process uses almost no CPU. */
async function untilIdle(pid: number): Promise<void> {
  for (const until = performance.now() + longestIdleWaitMs; performance.now() < until;) {
    const before = cpuSeconds(pid);
    await wait(idleIntervalMs);
    if ((cpuSeconds(pid) - before) * 1000 < idleIntervalMs / 20) return;
  }
}

/** Returns the message of the error in istiod's log that names an object. */
function refusalOf(output: string, { kind, metadata: { name, namespace = "" } }: KubernetesObject): string | undefined {
  const line = output.split("\n").find((each) => each.includes(`${kind} ${namespace}/${name}:`));
  return line === undefined ? undefined : (/"msg":"(?:\S*: )?(.*)"/.exec(line)?.[1] ?? line);
}

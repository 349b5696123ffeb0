import type { Variant } from "@istiod/xds-server";
import { runFleet } from "../fleet/run.js";
import { parseScript } from "../fleet/script.js";
import { failures, quantile, type StepReport } from "../fleet/step-report.js";
import { type Column, megabytes } from "../fleet/table.js";

export interface GrowthOptions {
  readonly proxies: readonly number[];
  readonly services: readonly number[];
  readonly fixedServices: number;
  readonly fixedProxies: number;
  readonly perNamespace: number;
  readonly inFirst: number;
  /** Kinds of changes to objects of the first namespace. */
  readonly changes: readonly string[];
  /** After the first one. */
  readonly repeat: number;
  readonly variant: Variant;
  readonly threads: number;
  readonly seed: number;
}

/** A size of mesh. */
export interface Point {
  readonly axis: "proxies" | "services";
  readonly scoped: boolean;
  readonly services: number;
  readonly proxies: number;
}

/** The cost of one kind of change in a mesh of one size: the median of the repetitions. */
export interface GrowthPoint extends Point {
  readonly namespaces: number;
  readonly change: string;
  readonly touched: number;
  readonly messages: number;
  readonly bytes: number;
  readonly first: Cost;
  readonly median: Cost;
  /** CPU seconds of istiod while all connected, and its memory then. */
  readonly connectCpuSeconds: number;
  /**
   * CPU seconds a second while nothing changes: what is in the cost of each change for as long as it was waited for.
   */
  readonly idleCores: number;
  readonly rss: number;
  readonly load: number;
}

interface Cost {
  readonly cpuSeconds: number;
  readonly lastAckMs: number | undefined;
}

export function pointsOf(
  { proxies, services, fixedServices, fixedProxies }: GrowthOptions,
  axis: Point["axis"],
  scoped: boolean,
): Point[] {
  return axis === "proxies"
    ? proxies.map((count) => ({ axis, scoped, services: fixedServices, proxies: count }))
    : services.map((count) => ({ axis, scoped, services: count, proxies: fixedProxies }));
}

/** Runs a fleet of one size. */
export async function measure(
  options: GrowthOptions,
  point: Point,
): Promise<{ readonly rows: readonly GrowthPoint[]; readonly failures: readonly string[] }> {
  const { perNamespace, inFirst, changes, repeat, variant, threads, seed } = options;
  const namespaces = Math.max(1, Math.round(point.services / perNamespace));
  const run = await runFleet({
    mesh: { services: point.services, namespaces, proxies: point.proxies, inFirst, scoped: point.scoped ? 1 : 0, seed },
    variant,
    threads,
    // Object 0 of each kind is in the first namespace.
    script: parseScript(["connect", "idle", ...changes.map((name) => `${name}@0*${repeat + 1}`)].join(",")),
    idleMs: 3000,
    quietMs: 700,
    minWaitMs: 1200,
  });
  const [connect, idle] = run.steps;
  const rows = changes.flatMap((change): GrowthPoint[] => {
    const [first, ...again] = run.steps.filter(({ name }) => name === change);
    const [typical] = again;
    if (connect === undefined || idle === undefined || first === undefined || typical === undefined) return [];
    const { touched, total } = typical;
    const median = {
      cpuSeconds: middle(again.map(({ serverCpuSeconds }) => serverCpuSeconds)),
      lastAckMs: middle(again.flatMap(({ lastAckMs }) => lastAckMs?.max ?? [])),
    };
    return [
      {
        ...point,
        namespaces,
        change,
        touched,
        messages: total.messages,
        bytes: total.bytes,
        first: costOf(first),
        median,
        connectCpuSeconds: connect.serverCpuSeconds,
        idleCores: (idle.serverCpuSeconds * 1000) / idle.wallMs,
        rss: connect.rss.after,
        load: typical.load,
      },
    ];
  });
  const where = `${point.services} services, ${point.proxies} proxies, ${point.scoped ? "scoped" : "unscoped"}`;
  return { rows, failures: run.steps.flatMap(failures).map((text) => `${where}: ${text}`) };
}

const costOf = ({ serverCpuSeconds, lastAckMs }: StepReport): Cost => ({
  cpuSeconds: serverCpuSeconds,
  lastAckMs: lastAckMs?.max,
});
const middle = (values: readonly number[]): number =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
const ms = (value: number | undefined): string => (value === undefined || Number.isNaN(value) ? "–" : value.toFixed(0));

export const growthColumns: readonly Column<GrowthPoint>[] = [
  { head: "change", of: ({ change }) => change, left: true },
  { head: "services", of: ({ services }) => String(services) },
  { head: "namespaces", of: ({ namespaces }) => String(namespaces) },
  { head: "proxies", of: ({ proxies }) => String(proxies) },
  { head: "touched", of: ({ touched }) => String(touched) },
  { head: "MB", of: ({ bytes }) => megabytes(bytes) },
  { head: "CPU s first", of: ({ first }) => first.cpuSeconds.toFixed(3) },
  { head: "median", of: ({ median }) => median.cpuSeconds.toFixed(3) },
  {
    head: "CPU ms a MB",
    of: ({ median, bytes }) => (bytes === 0 ? "–" : ((median.cpuSeconds * 1e9) / bytes).toFixed(2)),
  },
  { head: "last ACK ms first", of: ({ first }) => ms(first.lastAckMs) },
  { head: "median", of: ({ median }) => ms(median.lastAckMs) },
  { head: "connect CPU s", of: ({ connectCpuSeconds }) => connectCpuSeconds.toFixed(1) },
  { head: "idle ms/s", of: ({ idleCores }) => (idleCores * 1000).toFixed(0) },
  { head: "RSS MiB", of: ({ rss }) => (rss / 2 ** 20).toFixed(0) },
  { head: "load", of: ({ load }) => load.toFixed(1) },
];

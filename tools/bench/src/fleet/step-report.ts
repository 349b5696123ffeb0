import type { Variant } from "@istiod/xds-server";
import type { MeshOptions } from "../mesh/mesh.js";
import type { Profile } from "../profile/perf.js";
import type { ReportedChange } from "./comparison.js";
import type { Traffic } from "./traffic.js";

/**
 * The cost of one step, and the traffic of the proxies. Milliseconds count from the change, or from the start of
 * connecting.
 */
export interface StepReport {
  readonly name: string;
  readonly index?: number;
  /** Description of the change. */
  readonly what: string;
  /** Proxies that received at least one response. */
  readonly touched: number;
  /** By type URL. */
  readonly types: Readonly<Record<string, Traffic>>;
  readonly total: Traffic;
  readonly requests: { readonly messages: number; readonly bytes: number };
  /** Of all threads of istiod, over the whole step. */
  readonly serverCpuSeconds: number;
  /** Of the benchmark itself. */
  readonly ownCpuSeconds: number;
  readonly firstResponseMs: number | undefined;
  /** Of the proxies that were touched: when the last acknowledgement of each was handed to the transport. */
  readonly lastAckMs: { readonly p50: number; readonly p90: number; readonly max: number } | undefined;
  /** Bytes. Where it is not exact, the peak is that since istiod's start. */
  readonly rss: {
    readonly before: number;
    readonly peak: number;
    readonly after: number;
    readonly peakIsExact: boolean;
  };
  readonly wallMs: number;
  /** Of the machine, over the last minute. */
  readonly load: number;
  readonly timedOut: boolean;
  readonly broken: Readonly<Record<string, number>>;
  /** Proxies without a response for every type that they need. */
  readonly incomplete: number;
  /** istiod's report on the change. */
  readonly istiod?: ReportedChange & {
    readonly firstAckMs: number | undefined;
    readonly lastAckMs: number | undefined;
  };
  /** Profile of istiod's CPU, if requested. */
  readonly profile?: Profile;
  /** Differences between istiod's account and the proxies'. */
  readonly mismatches: readonly string[];
}

export interface RunReport {
  readonly mesh: MeshOptions;
  readonly variant: Variant;
  /** With gateways. */
  readonly proxies: number;
  readonly threads: number;
  readonly tls: boolean;
  /** When istiod was ready: after so many milliseconds, with so many CPU seconds and bytes. */
  readonly ready: { readonly ms: number | undefined; readonly cpuSeconds: number; readonly rss: number };
  readonly steps: readonly StepReport[];
}

/** Returns the reasons why a step failed, one sentence each. */
export function failures({ name, timedOut, incomplete, broken, mismatches }: StepReport): string[] {
  return [
    ...(timedOut ? [`${name}: did not become quiet`] : []),
    ...(incomplete > 0 ? [`${name}: ${incomplete} proxies did not get all that they need`] : []),
    ...Object.entries(broken).map(([reason, times]) => `${name}: ${times} streams broke: ${reason}`),
    ...mismatches.map((text) => `${name}: ${text}`),
  ];
}

/** @param sorted ascending, not empty */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
}

import type { AdmissionFigures } from "./admission/admission-calls.js";
import type { TrafficFigures } from "./data-plane/traffic-messages.js";
import type { EventFigures } from "./events/event.js";
import type { StreamBytes } from "./fleet/fleet.js";

/** Everything that was seen of an event, and until all was current after it. */
export interface EventResult extends EventFigures {
  readonly event: string;
  readonly seconds: number;
  readonly traffic: TrafficFigures;
  /** Seconds that a thread of a proxy was ready to run and had no CPU, of the one that waited longest. */
  readonly cpuWait: number;
  readonly admission: AdmissionFigures;
  /** Changes of the mesh that were written. */
  readonly changes: number;
  /** Streams that proxies opened again. */
  readonly reconnections: StreamBytes;
  /** Differences of proxies from new ones at a new istiod. */
  readonly lostUpdates: readonly string[];
  /** Configuration that was taken from proxies although no change did. */
  readonly losses: readonly string[];
}

/** The share of the bytes of a first connection that a reconnection may transfer again. */
const maxResentShare = 0.01;
const maxLeadershipSeconds = 30;

/** Returns the share of the bytes of first connections that the proxies were sent again. */
export function resentShare({ first, resent }: StreamBytes): number {
  return first === 0 ? 0 : resent / first;
}

/** Returns the bars that an event does not meet, one sentence each. */
export function failuresOf(result: EventResult): readonly string[] {
  const { traffic, cpuWait, admission, changes, lostUpdates, losses, reconnections, kills = 0 } = result;
  const { leadershipSeconds } = result;
  const share = resentShare(reconnections);
  const checks: readonly (readonly [isMissed: boolean, text: string])[] = [
    [
      traffic.failed > 0,
      `${traffic.failed} requests failed, by proxies without CPU for ${cpuWait.toFixed(1)} s: ${traffic.failures.join("; ")}`,
    ],
    [traffic.succeeded === 0, "no request was answered"],
    [traffic.held > 0, `${traffic.held} requests were not sent, because others were not answered`],
    [lostUpdates.length > 0, `${lostUpdates.length} lost updates: ${lostUpdates.slice(0, 10).join("; ")}`],
    [losses.length > 0, `${losses.length} losses: ${losses.slice(0, 10).join("; ")}`],
    [admission.errors.length > 0, `${admission.errors.length} webhook errors: ${admission.errors.join("; ")}`],
    [
      admission.repeated > kills,
      `${admission.repeated} calls of webhooks were not answered, expected ${kills} at most`,
    ],
    [admission.calls === 0, "no webhook was called"],
    [changes === 0, "nothing was changed"],
    [share > maxResentShare, `${percent(share)} of a first connection were sent again`],
    [
      (leadershipSeconds ?? 0) > maxLeadershipSeconds,
      `leadership moved after ${leadershipSeconds?.toFixed(1)} s, expected ${maxLeadershipSeconds} s at most`,
    ],
  ];
  return checks.filter(([isMissed]) => isMissed).map(([, text]) => text);
}

/** Returns the figures of an event as a row of a Markdown table. */
export function row(result: EventResult): string {
  const { event, seconds, traffic, cpuWait, admission, changes, lostUpdates, reconnections, leadershipSeconds } =
    result;
  const cells = [
    `\`${event}\``,
    seconds.toFixed(0),
    `${traffic.succeeded + traffic.failed}, **${traffic.failed}**`,
    `${traffic.p99.toFixed(0)}, ${traffic.longest.toFixed(0)}`,
    cpuWait.toFixed(1),
    `${changes}, **${lostUpdates.length + result.losses.length}**`,
    `${admission.calls}, ${admission.repeated}, **${admission.errors.length}**`,
    `${reconnections.streams}, ${percent(resentShare(reconnections))}`,
    leadershipSeconds === undefined ? "" : leadershipSeconds.toFixed(1),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The header of the table. */
export const header = `| event | s | requests, failed | p99, longest ms | proxies without CPU s | changes, lost | webhook calls, repeated, failed | reconnections, resent | leadership s |
|---|--:|--:|--:|--:|--:|--:|--:|--:|`;

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

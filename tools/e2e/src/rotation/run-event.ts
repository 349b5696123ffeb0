import { eventually } from "../eventually.js";
import { reachMs, type RotationEvent } from "./events.js";
import type { Handshakes, RotationRig } from "./rotation-rig.js";
import type { TrafficFigures } from "./traffic-messages.js";

/** The figures of an event, until everything had its result. */
export interface EventResult {
  readonly event: string;
  readonly seconds: number;
  readonly traffic: TrafficFigures;
  /** TLS handshakes between the Envoys. */
  readonly handshakes: Handshakes;
  /** Times that istiod was killed. */
  readonly kills: number;
}

export interface EventOptions {
  /** Requests in the event, at least. */
  readonly requests: number;
  /** Stages in which istiod is killed. */
  readonly kills: "all" | "first";
  /** Requests that are answered between a change and the kill of istiod, which may have read the change by then. */
  readonly requestsBeforeKill: number;
  /** Requests that must be answered while istiod does not run, for each kill. */
  readonly requestsWithoutIstiod: number;
}

/** Lets an event happen under load. Kills istiod in its stages, and starts it again. */
export async function runEvent(rig: RotationRig, event: RotationEvent, options: EventOptions): Promise<EventResult> {
  const { name, stages } = event;
  const { requests, kills } = options;
  const start = performance.now();
  const from = await rig.traffic.count();
  for (const [n, stage] of stages.entries()) {
    const hasReached = await stage.watch(rig);
    await stage.change(rig);
    if (kills === "all" || n === 0) await restartIstiod(rig, options);
    await eventually(`stage ${n + 1} of ${name} reaches both Envoys`, hasReached, reachMs);
  }
  await eventually(
    `${requests} requests are answered in ${name}`,
    async () => (await rig.traffic.count()) >= from + requests,
    reachMs,
  );
  const traffic = await rig.traffic.take();
  const handshakes = await rig.takeHandshakes();
  return {
    event: name,
    seconds: (performance.now() - start) / 1000,
    traffic,
    handshakes,
    kills: kills === "all" ? stages.length : 1,
  };
}

async function restartIstiod(rig: RotationRig, options: EventOptions): Promise<void> {
  await rig.untilAnswered(options.requestsBeforeKill, reachMs);
  await rig.mesh.istiod.kill();
  await rig.untilAnswered(options.requestsWithoutIstiod, reachMs);
  await rig.mesh.istiod.start();
}

/**
 * Handshakes for each request that asks for a new connection, at least. Both are counted one after the other, while
 * requests flow.
 */
const minHandshakeShare = 0.9;

/** Returns the reasons why an event has not passed, one sentence each. */
export function failuresOf({ traffic, handshakes }: EventResult): readonly string[] {
  const { succeeded, failed, failures, fresh } = traffic;
  const full = handshakes.all - handshakes.resumed;
  const checks: readonly (readonly [isMissed: boolean, text: string])[] = [
    [failed > 0, `${failed} requests failed: ${failures.join("; ")}`],
    [succeeded - fresh <= 0, "no request used a kept connection"],
    [
      fresh === 0 || handshakes.all < fresh * minHandshakeShare,
      `${fresh} requests asked for a new connection, but there were ${handshakes.all} handshakes`,
    ],
    [full <= 0, "no handshake verified a certificate"],
  ];
  return checks.filter(([isMissed]) => isMissed).map(([, text]) => text);
}

/** The header of a Markdown table of results. */
export const header = `| event | s | istiod killed | requests, failed | on new connections | handshakes, resumed | p99, longest ms |
|---|--:|--:|--:|--:|--:|--:|`;

/** Returns a row of the table. */
export function row({ event, seconds, traffic, handshakes, kills }: EventResult): string {
  const { succeeded, failed, fresh, p99, longest } = traffic;
  const cells = [
    `\`${event}\``,
    seconds.toFixed(0),
    String(kills),
    `${succeeded + failed}, **${failed}**`,
    String(fresh),
    `${handshakes.all}, ${handshakes.resumed}`,
    `${p99.toFixed(0)}, ${longest.toFixed(0)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

import { setInterval } from "node:timers";
import { setTimeout as wait } from "node:timers/promises";
import { memory } from "@istiod/bench";
import type { Attack, Effect } from "./attack.js";
import { percentile } from "./percentile.js";
import { probeReady } from "./target/ready-probe.js";
import { openSockets, socketsAbove } from "./target/sockets.js";
import type { Target } from "./target/target.js";

const sampleMs = 50;
/** Time from the begin of the attack until another honest client connects. */
const joinAfterMs = 500;

/** Runs an attack, and observes the server until an edit after it has reached the honest clients. */
export async function runAttack<T>(attack: Attack<T>, target: T & Target, scale = 1): Promise<Effect> {
  const { pid, readyUrl } = target;
  const lost = target.streamsLost;
  await target.longTurns?.();
  const sockets = openSockets(pid);
  const before = memory(pid).rss;
  let peak = before;
  const sample = setInterval(() => {
    if (target.isAlive()) peak = Math.max(peak, memory(pid).rss);
  }, sampleMs);
  const stopProbe = probeReady(readyUrl);
  const joining = wait(joinAfterMs).then(() => target.join());
  const sent = await attack.run(target, scale).finally(() => clearInterval(sample));
  const joinedMs = await (await joining).waitMs();
  const { ms, failures } = await stopProbe();
  const turns = target.isAlive() ? ((await target.longTurns?.()) ?? []) : [];
  const updated = target.isAlive() && (await target.update());
  return {
    attack: attack.name,
    sent,
    alive: target.isAlive(),
    rssGrowth: peak - before,
    ready: { max: Math.max(0, ...ms), p99: percentile(ms, 0.99), failures },
    longestTurnMs: turns.length === 0 ? undefined : Math.max(...turns.map(({ ms, ranMs = ms }) => ranMs)),
    streamsLost: target.streamsLost - lost,
    joinedMs,
    updated,
    socketsLeft: target.isAlive() ? await socketsAbove(pid, sockets) : 0,
  };
}

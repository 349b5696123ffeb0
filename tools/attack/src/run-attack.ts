import { setInterval } from "node:timers";
import { setTimeout as wait } from "node:timers/promises";
import { memory } from "@istiod/bench";
import type { Attack, Effect } from "./attack.js";
import { percentile } from "./percentile.js";
import type { IstiodTarget } from "./target/istiod-target.js";
import { probeReady } from "./target/ready-probe.js";

const sampleMs = 50;
/** Time from the begin of the attack until another honest proxy connects. */
const joinAfterMs = 500;

/** Runs an attack, and observes istiod until an edit after it has reached the honest proxies. */
export async function runAttack(attack: Attack, target: IstiodTarget, scale = 1): Promise<Effect> {
  const { pid, http } = target.istiod;
  const lost = target.streamsLost;
  const before = memory(pid).rss;
  let peak = before;
  const sample = setInterval(() => {
    if (target.isAlive()) peak = Math.max(peak, memory(pid).rss);
  }, sampleMs);
  const stopProbe = probeReady(http);
  const joining = wait(joinAfterMs).then(() => target.join());
  const sent = await attack.run(target, scale).finally(() => clearInterval(sample));
  const joinedMs = await (await joining).waitMs();
  const { ms, failures } = await stopProbe();
  const updated = target.isAlive() && (await target.update());
  return {
    attack: attack.name,
    sent,
    alive: target.isAlive(),
    rssGrowth: peak - before,
    ready: { max: Math.max(0, ...ms), p99: percentile(ms, 0.99), failures },
    streamsLost: target.streamsLost - lost,
    joinedMs,
    updated,
  };
}

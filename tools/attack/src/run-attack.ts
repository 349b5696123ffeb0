import { setInterval } from "node:timers";
import { memory } from "@istiod/bench";
import type { Attack, Effect } from "./attack.js";
import { percentile } from "./percentile.js";
import type { IstiodTarget } from "./target/istiod-target.js";
import { probeReady } from "./target/ready-probe.js";

const sampleMs = 50;

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
  const sent = await attack.run(target, scale).finally(() => clearInterval(sample));
  const { ms, failures } = await stopProbe();
  const updated = target.isAlive() && (await target.update());
  return {
    attack: attack.name,
    sent,
    alive: target.isAlive(),
    rssGrowth: peak - before,
    ready: { max: Math.max(0, ...ms), p99: percentile(ms, 0.99), failures },
    streamsLost: target.streamsLost - lost,
    updated,
  };
}

import { setImmediate } from "node:timers/promises";
import { podProxies } from "@istiod/explain";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { generators } from "@istiod/xds-generators";

export interface PreparationOptions {
  readonly database: Database<Proxy>;
  /** The cluster whose proxies are expected. */
  readonly cluster: string;
  /** Stops after so many milliseconds; 0 prepares nothing. */
  readonly limitMs: number;
}

/** For how many proxies of those that are expected everything was computed, and how long that took. */
export interface Prepared {
  readonly proxies: number;
  readonly expected: number;
  readonly ms: number;
}

/** Others get a turn after so many milliseconds. */
const sliceMs = 20;

/**
 * Computes what the proxies of a cluster's Pods will ask for, before any of them is connected, so that a fleet that returns after a restart
 * finds answers. Nothing is served from here: a proxy that describes itself otherwise than expected shares what does not depend on that. What
 * fails is left to the proxy that asks. Results that nobody comes for are dropped as any that are not used.
 */
export async function prepare({ database, cluster, limitMs }: PreparationOptions): Promise<Prepared> {
  const start = performance.now();
  const expected = limitMs > 0 ? podProxies(database).filter(({ metadata }) => metadata.CLUSTER_ID === cluster) : [];
  let proxies = 0;
  let turn = start;
  for (const proxy of expected) {
    if (performance.now() - start >= limitMs) break;
    compute(database, proxy);
    proxies++;
    if (performance.now() - turn < sliceMs) continue;
    await setImmediate();
    turn = performance.now();
  }
  return { proxies, expected: expected.length, ms: Math.round(performance.now() - start) };
}

function compute(database: Database<Proxy>, proxy: Proxy): void {
  const view = database.view(proxy);
  for (const generator of Object.values(generators)) {
    try {
      view.call(generator);
    } catch {
      continue;
    }
  }
  view.release();
}

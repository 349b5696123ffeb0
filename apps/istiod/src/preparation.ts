import { setImmediate } from "node:timers/promises";
import { type PodObject, pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { podProxy, type Proxy } from "@istiod/push-context";
import { generators } from "@istiod/xds-generators";

export interface PreparationOptions {
  readonly database: Database<Proxy>;
  /** The cluster whose proxies are expected. */
  readonly cluster: string;
  /** Maximum duration in milliseconds. 0 disables precomputation. */
  readonly limitMs: number;
}

/** Number of proxies whose configuration was computed, whether these are all expected proxies, and the duration. */
export interface Prepared {
  readonly proxies: number;
  readonly all: boolean;
  readonly ms: number;
}

/** Milliseconds after which the event loop gets a turn. */
const sliceMs = 20;

/**
 * Computes what the proxies of a cluster's Pods will ask for, before any of them is connected, so that a fleet that
 * returns after a restart finds answers. Nothing is served from here: a proxy that describes itself otherwise than
 * expected shares what does not depend on that. What fails is left to the proxy that asks. Results that nobody comes
 * for are dropped as any that are not used.
 */
export async function prepare({ database, cluster, limitMs }: PreparationOptions): Promise<Prepared> {
  const start = performance.now();
  let proxies = 0;
  let turn = start;
  for (const pod of inTurn(database.all(pods).filter((pod) => pod.cluster === cluster))) {
    if (performance.now() - start >= limitMs) return { proxies, all: false, ms: Math.round(performance.now() - start) };
    const proxy = podProxy(database, pod);
    if (proxy === undefined) continue;
    compute(database, proxy);
    proxies++;
    if (performance.now() - turn < sliceMs) continue;
    await setImmediate();
    turn = performance.now();
  }
  return { proxies, all: true, ms: Math.round(performance.now() - start) };
}

/** Alternates between namespaces, because proxies of one namespace share most of their configuration. */
function* inTurn(all: readonly PodObject[]): Generator<PodObject> {
  const byNamespace = new Map<string, PodObject[]>();
  for (const pod of all) {
    const found = byNamespace.get(pod.namespace);
    if (found) found.push(pod);
    else byNamespace.set(pod.namespace, [pod]);
  }
  for (let i = 0, left = byNamespace.size; left > 0; i++) {
    left = 0;
    for (const of of byNamespace.values()) {
      const pod = of[i];
      if (pod === undefined) continue;
      left++;
      yield pod;
    }
  }
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

import { setImmediate } from "node:timers/promises";
import { type PodObject, pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { podProxy, type Proxy } from "@istiod/push-context";
import { generators } from "./generators.js";

export interface WarmUpOptions {
  readonly database: Database<Proxy>;
  /** The cluster whose proxies are expected. */
  readonly cluster: string;
  /** Maximum duration in milliseconds. 0 disables precomputation. */
  readonly limitMs: number;
}

export interface WarmUpResult {
  /** Number of proxies whose resources were computed. */
  readonly proxies: number;
  /** False if the time limit was reached before all expected proxies were computed. */
  readonly all: boolean;
  /** Duration in milliseconds. */
  readonly ms: number;
}

/** Milliseconds of computation after which the event loop runs. */
const yieldIntervalMs = 20;

/**
 * Computes the resources of the proxies that the Pods of a cluster are expected to have. A fleet that reconnects after
 * a restart then finds memoized results. A proxy that differs from its expectation shares the results that do not
 * depend on the difference. Failed computations are skipped; they fail again when a proxy requests them. Unused results
 * are evicted like any others.
 */
export async function warmUp({ database, cluster, limitMs }: WarmUpOptions): Promise<WarmUpResult> {
  const start = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - start);
  let proxies = 0;
  let lastYield = start;
  for (const pod of alternatingNamespaces(database.all(pods).filter((pod) => pod.cluster === cluster))) {
    if (elapsedMs() >= limitMs) return { proxies, all: false, ms: elapsedMs() };
    const proxy = podProxy(database, pod);
    if (proxy === undefined) continue;
    computeResources(database, proxy);
    proxies++;
    if (performance.now() - lastYield < yieldIntervalMs) continue;
    await setImmediate();
    lastYield = performance.now();
  }
  return { proxies, all: true, ms: elapsedMs() };
}

/** Alternates between namespaces, because proxies of one namespace share most of their configuration. */
function* alternatingNamespaces(all: readonly PodObject[]): Generator<PodObject> {
  const byNamespace = new Map<string, PodObject[]>();
  for (const pod of all) {
    const found = byNamespace.get(pod.namespace);
    if (found) found.push(pod);
    else byNamespace.set(pod.namespace, [pod]);
  }
  const longest = Math.max(0, ...[...byNamespace.values()].map((podsOfNamespace) => podsOfNamespace.length));
  for (let i = 0; i < longest; i++) {
    for (const podsOfNamespace of byNamespace.values()) {
      const pod = podsOfNamespace[i];
      if (pod !== undefined) yield pod;
    }
  }
}

function computeResources(database: Database<Proxy>, proxy: Proxy): void {
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

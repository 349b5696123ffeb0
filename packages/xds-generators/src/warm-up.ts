import { setImmediate } from "node:timers/promises";
import { type PodObject, pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { podProxy, podProxyType, type Proxy, workloadOfPod } from "@istiod/push-context";
import { generators } from "./generators.js";
import { outboundSelections } from "./workload-selectors.js";

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
 * Computes the resources of the gateways and waypoints that the Pods of a cluster are expected to have, and of one
 * sidecar in each namespace and locality, for each set of objects that select its workload: what the proxies of a mesh
 * share. A proxy that connects after a restart then finds memoized results, apart from its own inbound listeners and
 * clusters. A proxy that differs from its expectation shares the results that do not depend on the difference. Failed
 * computations are skipped; they fail again when a proxy requests them. Unused results are evicted like any others.
 */
export async function warmUp({ database, cluster, limitMs }: WarmUpOptions): Promise<WarmUpResult> {
  const start = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - start);
  const shares = sharesOf(database);
  let proxies = 0;
  let lastYield = start;
  for (const pod of database.all(pods)) {
    if (elapsedMs() >= limitMs) return { proxies, all: false, ms: elapsedMs() };
    const proxy = pod.cluster === cluster && shares(pod) ? podProxy(database, pod) : undefined;
    if (proxy !== undefined) {
      computeResources(database, proxy);
      proxies++;
    }
    if (performance.now() - lastYield < yieldIntervalMs) continue;
    await setImmediate();
    lastYield = performance.now();
  }
  return { proxies, all: true, ms: elapsedMs() };
}

/**
 * Returns a function that reports whether the proxy of a Pod stands for others: those of gateways and waypoints, and
 * the first sidecar of each namespace and locality, for each set of objects that select its workload.
 */
function sharesOf(database: Database<Proxy>): (pod: PodObject) => boolean {
  const seen = new Set<string>();
  const selectionsOf = outboundSelections(database);
  return (pod) => {
    const type = podProxyType(database, pod);
    if (type !== "sidecar") return type !== undefined;
    const key = [pod.namespace, workloadOfPod(database, pod)?.locality ?? "", selectionsOf(pod)].join(" ");
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  };
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

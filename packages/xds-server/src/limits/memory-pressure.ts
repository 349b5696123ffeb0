import { readFileSync } from "node:fs";
import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Clock } from "@istiod/runtime";
import { oldGenerationLimit } from "./old-generation-limit.js";

const intervalMs = 1000;
/** Connections that are closed in each step of an episode, of all. */
const shedShare = 0.1;
/** Time without a collection after which one is requested during an episode, so that the episode can end. */
const collectAfterMs = 5000;

/** The memory of the process, in bytes. */
export interface MemoryUse {
  /** Size of the heap now, with garbage. */
  readonly heap: number;
  /** Size of the heap after its last full collection; undefined before the first one. */
  readonly live: number | undefined;
  /** Size at which the process ends: that of the old generation. */
  readonly heapLimit: number;
  readonly resident: number;
  /** Memory limit of the container; undefined if there is none. */
  readonly containerLimit: number | undefined;
  /** Number of full collections so far. */
  readonly collections: number;
}

/** Measures the memory of a process. */
export interface MemoryMeter {
  read(): MemoryUse;
  /** Requests a full collection. */
  collect(): void;
  stop(): void;
}

export interface MemoryPressureOptions {
  readonly meter: MemoryMeter;
  readonly clock: Clock;
  /** Share of a limit, from 0 to 1, above which an episode begins. It ends below nine tenths of it. */
  readonly threshold: number;
  /** Number of connections. */
  readonly connections: () => number;
  /** Closes the newest connections. */
  readonly shed: (count: number) => void;
  /** Called when an episode begins and ends, with the memory in use and its limit in bytes. */
  readonly changed: (isHigh: boolean, used: number, limit: number) => void;
}

/**
 * Watches the memory of the process. While it is high no streams are admitted, and the newest connections are closed
 * until it is no longer. Garbage does not count: only what a full collection left, and what cannot be garbage.
 */
export class MemoryPressure {
  readonly #options: MemoryPressureOptions;
  #isHigh = false;
  #stop: () => void;
  #collections = 0;
  #collectedAt = 0;

  constructor(options: MemoryPressureOptions) {
    this.#options = options;
    this.#stop = options.clock.after(intervalMs, () => this.#check());
  }

  /** Reports whether memory is short: nothing new must be admitted. */
  get isHigh(): boolean {
    return this.#isHigh;
  }

  stop(): void {
    this.#stop();
    this.#options.meter.stop();
  }

  #check(): void {
    const { meter, clock, threshold, changed } = this.#options;
    this.#stop = clock.after(intervalMs, () => this.#check());
    const use = meter.read();
    const { used, limit } = tightest(use);
    const wasHigh = this.#isHigh;
    this.#isHigh = used > limit * threshold * (wasHigh ? 0.9 : 1);
    if (this.#isHigh !== wasHigh) changed(this.#isHigh, used, limit);
    const isCollected = use.collections > this.#collections;
    if (isCollected || !wasHigh) {
      this.#collections = use.collections;
      this.#collectedAt = clock.now();
    }
    if (!this.#isHigh) return;
    // Each step takes effect before the next: the memory of closed connections is known after a collection.
    if (!wasHigh || isCollected) this.#shed();
    else if (clock.now() - this.#collectedAt >= collectAfterMs) meter.collect();
  }

  #shed(): void {
    const { connections, shed } = this.#options;
    const count = connections();
    if (count > 0) shed(Math.ceil(count * shedShare));
  }
}

/** Returns the memory in use and its limit, of heap and container the one that is closer to its limit. */
function tightest(use: MemoryUse): { readonly used: number; readonly limit: number } {
  const live = Math.min(use.live ?? 0, use.heap);
  const heap = { used: live, limit: use.heapLimit };
  if (use.containerLimit === undefined) return heap;
  const container = { used: use.resident - (use.heap - live), limit: use.containerLimit };
  return container.used / container.limit > heap.used / heap.limit ? container : heap;
}

interface GcEntry {
  readonly detail?: { readonly kind?: number };
}

/** Measures this process. */
export function processMemory(): MemoryMeter {
  let live: number | undefined;
  let collections = 0;
  let resident = 0;
  const observer = new PerformanceObserver((list) => {
    const full = list
      .getEntries()
      .filter((entry) => (entry as GcEntry).detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (full.length === 0) return;
    collections += full.length;
    live = usedHeap();
  });
  observer.observe({ entryTypes: ["gc"] });
  const containerLimit = containerMemory();
  const heapLimit = oldGenerationLimit({
    heapSizeLimit: getHeapStatistics().heap_size_limit,
    v8Version: process.versions.v8,
    flags: [...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/), ...process.execArgv],
  });
  return {
    read: () => ({
      heap: usedHeap(),
      live,
      heapLimit,
      resident: (resident = residentMemory() ?? resident),
      containerLimit,
      collections,
    }),
    collect: () => void requestCollection(),
    stop: () => observer.disconnect(),
  };
}

/** Returns the size of the heap. `process.memoryUsage` opens a file, and throws when there is no free descriptor. */
function usedHeap(): number {
  return getHeapStatistics().used_heap_size;
}

/** Returns the resident memory; undefined while the process has no free file descriptor. */
function residentMemory(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/** Starts a full collection. Taking a heap snapshot would, too, but at many times the cost. */
async function requestCollection(): Promise<void> {
  const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import("node:v8"), import("node:vm")]);
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect();
}

/** Returns the memory limit of the control group (cgroup v2 or v1), if it is below that of any machine. */
function containerMemory(): number | undefined {
  for (const file of ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]) {
    try {
      const bytes = Number(readFileSync(file, "utf8"));
      if (bytes > 0 && bytes < Number.MAX_SAFE_INTEGER / 2) return bytes;
    } catch {
      // This version of control groups is not mounted.
    }
  }
  return undefined;
}

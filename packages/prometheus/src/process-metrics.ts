import { readFileSync } from "node:fs";
import { GCProfiler, getHeapStatistics } from "node:v8";
import { collectDefaultMetrics, Counter, Gauge, type Registry } from "prom-client";

/**
 * Metrics of the process itself: Istio's own by their names, Node's defaults, and those by Go's names that Istio's
 * dashboards ask for. Gives what ends them.
 */
export function processMetrics(registry: Registry, version: string): () => void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSampleMs });
  const registers = [registry];
  new Gauge({ name: "pilot_info", help: "Version of this istiod.", labelNames: ["version"], registers }).set(
    { version },
    1,
  );
  new Gauge({ name: "istio_build", help: "Build information.", labelNames: ["component", "tag"], registers }).set(
    { component: "pilot", tag: version },
    1,
  );
  const started = Date.now();
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge("istiod_uptime_seconds", "Seconds since this istiod started.", () => (Date.now() - started) / 1000);
  gauge("go_memstats_heap_alloc_bytes", "Bytes of live and not yet collected objects: V8's used heap.", usedHeap);
  gauge("go_memstats_alloc_bytes", "The same, by its older name.", usedHeap);
  gauge(
    "go_memstats_heap_sys_bytes",
    "Bytes of the heap that the system has given: V8's heap in physical memory.",
    () => getHeapStatistics().total_physical_size,
  );
  gauge(
    "go_memstats_heap_inuse_bytes",
    "Bytes of the heap's pages: V8's total heap.",
    () => getHeapStatistics().total_heap_size,
  );
  gauge(
    "go_memstats_stack_inuse_bytes",
    "Bytes of the main thread's stack, where the system tells it (VmStk).",
    stackBytes,
  );
  gauge(
    "go_goroutines",
    "What the event loop waits for: there are no goroutines here.",
    () => process.getActiveResourcesInfo().length,
  );
  return allocationMetrics(registry);
}

/**
 * Sampling interval of the event loop's delay, in milliseconds. Each sample wakes the process: an interval of 100 ms
 * costs 0.6 ms of CPU a second.
 */
const eventLoopSampleMs = 500;

/** A mean object of the control plane, to tell a number of allocations from their bytes: V8 does not count them. */
const bytesOfAnObject = 64;
const collectEveryMs = 10_000;

/** Allocations, by Go's names: what the heap grew between collections. */
function allocationMetrics(registry: Registry): () => void {
  const registers = [registry];
  const bytes = new Counter({
    name: "go_memstats_alloc_bytes_total",
    help: "Bytes allocated: what the heap grew between collections.",
    registers,
    collect: () => account(),
  });
  const objects = new Counter({
    name: "go_memstats_mallocs_total",
    help: `Objects allocated, estimated at ${bytesOfAnObject} bytes each.`,
    registers,
    collect: () => account(),
  });
  let profiler = new GCProfiler();
  let used = usedHeap();
  profiler.start();
  function account(): void {
    let grown = 0;
    for (const { beforeGC, afterGC } of profiler.stop()?.statistics ?? []) {
      grown += Math.max(0, beforeGC.heapStatistics.usedHeapSize - used);
      used = afterGC.heapStatistics.usedHeapSize;
    }
    const now = usedHeap();
    grown += Math.max(0, now - used);
    used = now;
    profiler = new GCProfiler();
    profiler.start();
    bytes.inc(grown);
    objects.inc(Math.round(grown / bytesOfAnObject));
  }
  const timer = setInterval(account, collectEveryMs).unref();
  return () => {
    clearInterval(timer);
    profiler.stop();
  };
}

/** Returns the size of the heap. `process.memoryUsage` opens a file, and throws when there is no free descriptor. */
function usedHeap(): number {
  return getHeapStatistics().used_heap_size;
}

function stackBytes(): number {
  try {
    return Number(/VmStk:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

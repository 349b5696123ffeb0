import type { Database, Statistics } from "@istiod/incremental";
import type { Meter } from "@istiod/metrics";

/** Istio's metrics of its cache as gauges of the incremental engine. */
const gauges = [
  { name: "xds_cache_size", help: "Memoized results.", read: ({ memos }: Statistics) => memos },
  {
    name: "xds_cache_dependent_config_size",
    help: "Recorded dependencies of memoized results.",
    read: ({ edges }: Statistics) => edges,
  },
] as const;

/** Istio's metrics of its cache as counters of the incremental engine, by the label `type`. */
const counters = [
  {
    name: "xds_cache_reads",
    help: "Reads of results that were memoized (hit) or had to be computed (miss).",
    read: ({ hits, verifications, recomputations }: Statistics) => ({
      hit: hits + verifications,
      miss: recomputations,
    }),
  },
  {
    name: "xds_cache_evictions",
    help: "Results that were recomputed after a change of their dependencies (clear), or evicted because nothing used them (size).",
    read: ({ replacements, drops }: Statistics) => ({ clear: replacements, size: drops }),
  },
] as const;

/** Registers Istio's metrics of its cache for the engine, which memoizes every result. */
export function cacheMetrics<C>(meter: Meter, database: Database<C>): void {
  for (const { name, help, read } of gauges) meter.observeGauge({ name, help }, () => read(database.stats()));
  for (const { name, help, read } of counters)
    meter.observeCounter({ name, help, labels: ["type"] }, () =>
      Object.entries(read(database.stats())).map(([type, value]) => ({ value, labels: { type } })),
    );
}

import type { Database, Statistics } from "@istiod/incremental";
import { Counter, Gauge, type Registry } from "prom-client";

/**
 * Istio's metrics of its cache, of the engine that stands in its place. Every result is kept, so what is read is found
 * or made; what is cleared there by a change of configuration is here found to have changed and made again; what is
 * pushed out there by the cache's size is here dropped because nothing has used it for some revisions.
 */
export function cacheMetrics<C>(registry: Registry, database: Database<C>): void {
  const registers = [registry];
  let stats: Statistics = database.stats();
  new Gauge({
    name: "xds_cache_size",
    help: "Results that are kept.",
    registers,
    collect() {
      stats = database.stats();
      this.set(stats.memos);
      dependencies.set(stats.edges);
    },
  });
  const dependencies = new Gauge({
    name: "xds_cache_dependent_config_size",
    help: "Recorded dependencies of results that are kept.",
    registers,
  });
  total("xds_cache_reads", "Results that were found (hit) or had to be made (miss).", () => ({
    hit: stats.hits + stats.verifications,
    miss: stats.recomputations,
  }));
  total(
    "xds_cache_evictions",
    "Results that were made again because something they read changed (clear), or dropped because nothing used them (size).",
    () => ({
      clear: stats.replacements,
      size: stats.drops,
    }),
  );

  function total(name: string, help: string, values: () => Readonly<Record<string, number>>): void {
    new Counter({
      name,
      help,
      labelNames: ["type"],
      registers,
      collect() {
        this.reset();
        for (const [type, value] of Object.entries(values())) this.inc({ type }, value);
      },
    });
  }
}

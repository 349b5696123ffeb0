import type { Meter, Sample } from "@istiod/metrics";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Returns the meter whose instruments are metrics of a Prometheus registry. */
export function prometheusMeter(registry: Registry): Meter {
  const registers = [registry];
  const existing = <M>(name: string, create: () => M): M =>
    (registry.getSingleMetric(name) as M | undefined) ?? create();
  return {
    counter({ name, help, labels = [] }) {
      const metric = existing(name, () => new Counter({ name, help, labelNames: [...labels], registers }));
      return { add: (of = {}, value = 1) => metric.inc(of, value) };
    },
    gauge({ name, help, labels = [] }) {
      const metric = existing(name, () => new Gauge({ name, help, labelNames: [...labels], registers }));
      return {
        set: (value, of = {}) => metric.set(of, value),
        add: (of = {}, value = 1) => metric.inc(of, value),
        remove: (of) => metric.remove(of),
      };
    },
    histogram({ name, help, labels = [], buckets }) {
      const metric = existing(
        name,
        () => new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers }),
      );
      return { observe: (value, of = {}) => metric.observe(of, value) };
    },
    observeGauge({ name, help, labels = [] }, read) {
      const collect = function (this: Gauge): void {
        this.reset();
        // A metric without labels has a series of value 0 after a reset.
        this.remove({});
        for (const sample of samples(read())) this.set(sample.labels ?? {}, sample.value);
      };
      new Gauge({ name, help, labelNames: [...labels], registers, collect });
    },
    observeCounter({ name, help, labels = [] }, read) {
      const collect = function (this: Counter): void {
        this.reset();
        this.remove({});
        for (const sample of samples(read())) this.inc(sample.labels ?? {}, sample.value);
      };
      new Counter({ name, help, labelNames: [...labels], registers, collect });
    },
  };
}

function samples(read: number | readonly Sample[]): readonly Sample[] {
  return typeof read === "number" ? [{ value: read }] : read;
}

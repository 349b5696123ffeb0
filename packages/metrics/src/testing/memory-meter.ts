import type { Counter, Gauge, Histogram, InstrumentOptions, Labels, Meter, Sample } from "../meter.js";

/** A meter that keeps values in memory, for tests. */
export class MemoryMeter implements Meter {
  readonly #series = new Map<string, Map<string, number>>();
  readonly #observed = new Map<string, () => number | readonly Sample[]>();

  /** Returns the value of a series; undefined if it has none. That of a histogram is the sum of what it observed. */
  value(name: string, labels: Labels = {}): number | undefined {
    const read = this.#observed.get(name);
    if (read === undefined) return this.#series.get(name)?.get(keyOf(labels));
    const samples = read();
    return typeof samples === "number"
      ? samples
      : samples.find((sample) => keyOf(sample.labels ?? {}) === keyOf(labels))?.value;
  }

  counter(options: InstrumentOptions): Counter {
    const series = this.#seriesOf(options);
    return { add: (labels, value = 1) => add(series, labels, value) };
  }

  gauge(options: InstrumentOptions): Gauge {
    const series = this.#seriesOf(options);
    return {
      set: (value, labels = {}) => void series.set(keyOf(labels), value),
      add: (labels, value = 1) => add(series, labels, value),
      remove: (labels) => void series.delete(keyOf(labels)),
    };
  }

  histogram(options: InstrumentOptions): Histogram {
    const series = this.#seriesOf(options);
    return { observe: (value, labels) => add(series, labels, value) };
  }

  observeGauge({ name }: InstrumentOptions, read: () => number | readonly Sample[]): void {
    this.#observed.set(name, read);
  }

  observeCounter({ name }: InstrumentOptions, read: () => number | readonly Sample[]): void {
    this.#observed.set(name, read);
  }

  #seriesOf({ name }: InstrumentOptions): Map<string, number> {
    const series = this.#series.get(name) ?? new Map<string, number>();
    this.#series.set(name, series);
    return series;
  }
}

function add(series: Map<string, number>, labels: Labels = {}, value: number): void {
  series.set(keyOf(labels), (series.get(keyOf(labels)) ?? 0) + value);
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

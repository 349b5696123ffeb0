/** Values of the labels of a sample, by the names of the labels. */
export type Labels = Readonly<Record<string, string>>;

export interface InstrumentOptions {
  /** A Prometheus name, with the unit as its suffix. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
  /** Names of the labels. Default: none. */
  readonly labels?: readonly string[];
}

export interface HistogramOptions extends InstrumentOptions {
  /** Upper bounds of the buckets, ascending. */
  readonly buckets: readonly number[];
}

/** A value that only grows. */
export interface Counter {
  /** @param value default 1 */
  add(labels?: Labels, value?: number): void;
}

/** A value that goes up and down. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
  /** @param value default 1 */
  add(labels?: Labels, value?: number): void;
  /** Drops the series with these labels. */
  remove(labels: Labels): void;
}

/** A distribution of values. */
export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** A value at the time of collection. */
export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
}

/**
 * Creates the instruments of one registry of metrics. A name that exists already yields the existing instrument, so
 * that several parts of a program can count in one metric.
 */
export interface Meter {
  counter(options: InstrumentOptions): Counter;
  gauge(options: InstrumentOptions): Gauge;
  histogram(options: HistogramOptions): Histogram;
  /** Adds a gauge whose samples are read on each collection. Series that are not read again are dropped. */
  observeGauge(options: InstrumentOptions, read: () => number | readonly Sample[]): void;
  /** Adds a counter whose totals are read on each collection. */
  observeCounter(options: InstrumentOptions, read: () => number | readonly Sample[]): void;
}

export type { Counter, Gauge, Histogram, HistogramOptions, InstrumentOptions, Labels, Meter, Sample } from "./meter.js";

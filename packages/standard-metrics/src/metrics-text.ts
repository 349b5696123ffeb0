import type { Labels } from "./labels.js";
import { statPrefix } from "./metrics.js";
import type { PeerWorkload } from "./peer.js";
import { standardLabels } from "./standard-labels.js";

/** Envoy's prefix of names in Prometheus. */
const ENVOY_PREFIX = "envoy_";
const RECORDED = `${ENVOY_PREFIX}${statPrefix}_`;
const PART_LENGTH = 64 * 1024;
const RECORDED_TYPE = `# TYPE ${RECORDED}`;

/** A metric with the sums of its series by the text of their labels. */
interface Metric {
  readonly name: string;
  readonly type: string;
  readonly values: Map<string, number>;
}

/**
 * Turns the statistics that Envoy has recorded, in Prometheus's text format, into Istio's metrics. Series that differ
 * only in what Istio's labels do not say are added up. Other metrics are passed on.
 */
export class StandardMetricsText {
  readonly #self: PeerWorkload;
  readonly #metrics: Metric[] = [];
  /** Istio's labels by those that Envoy has recorded, as text. */
  readonly #labels = new Map<string, string>();

  /** @param self the workload of the proxy */
  constructor(self: PeerWorkload) {
    this.#self = self;
  }

  /** Takes whole lines in UTF-8, and returns those that are to be passed on. */
  push(lines: Buffer): Buffer | string {
    if (!lines.includes(RECORDED)) return lines;
    let rest = "";
    for (const line of lines.toString("utf8").split("\n")) {
      if (line.startsWith(RECORDED_TYPE)) this.#begin(line);
      else if (line.startsWith(RECORDED)) this.#add(line);
      else if (line !== "") rest += `${line}\n`;
    }
    return rest;
  }

  /** Returns Istio's metrics, in parts of about 64 KiB. */
  *end(): Generator<string> {
    let part = "";
    for (const { name, type, values } of this.#metrics) {
      if (values.size > 0) part += `# TYPE ${name} ${type}\n`;
      for (const [series, value] of values) {
        part += `${series} ${value}\n`;
        if (part.length < PART_LENGTH) continue;
        yield part;
        part = "";
      }
    }
    if (part !== "") yield part;
  }

  #begin(line: string): void {
    const [name = "", type = "untyped"] = line.slice(`# TYPE ${ENVOY_PREFIX}`.length).split(" ");
    this.#metrics.push({ name, type, values: new Map() });
  }

  #add(line: string): void {
    const metric = this.#metrics.at(-1);
    const { name, labels, value } = splitSample(line);
    if (metric === undefined || value === undefined) return;
    const key = `${name.slice(ENVOY_PREFIX.length)}{${this.#standard(labels)}}`;
    metric.values.set(key, (metric.values.get(key) ?? 0) + value);
  }

  /** Returns the text of Istio's labels. `le`, the bound of a histogram's bucket, is not part of what is kept. */
  #standard(text: string): string {
    const bound = /(?:^|,)le="[^"]*"$/.exec(text)?.[0] ?? "";
    const known = text.slice(0, text.length - bound.length);
    let standard = this.#labels.get(known);
    if (standard === undefined) {
      standard = formatLabels(standardLabels(parseLabels(known), this.#self));
      this.#labels.set(known, standard);
    }
    return bound === "" ? standard : `${standard},${bound.replace(/^,/, "")}`;
  }
}

function splitSample(line: string): { name: string; labels: string; value: number | undefined } {
  const open = line.indexOf("{");
  const close = line.lastIndexOf("}");
  const space = line.indexOf(" ", close + 1);
  const value = Number(line.slice(space + 1));
  return {
    name: open < 0 ? line.slice(0, space) : line.slice(0, open),
    labels: open < 0 ? "" : line.slice(open + 1, close),
    value: space < 0 || Number.isNaN(value) ? undefined : value,
  };
}

const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

function parseLabels(text: string): Labels {
  const labels = new Map<string, string>();
  for (const [, name = "", value = ""] of text.matchAll(LABEL)) labels.set(name, unescape(value));
  return labels;
}

function formatLabels(labels: Labels): string {
  return [...labels].map(([name, value]) => `${name}="${escape(value)}"`).join(",");
}

function unescape(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

function escape(value: string): string {
  return value.replaceAll(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}

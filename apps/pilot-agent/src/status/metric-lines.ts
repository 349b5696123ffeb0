import type { MetricsFormat } from "./metrics-format.js";
import { OpenMetricsComments } from "./open-metrics-comments.js";
import { openMetricsLine, parseSample } from "./sample-line.js";

const NEWLINE = 10;
/** Longest line in bytes. A sample with many labels has a few hundred. */
const MAX_LINE_BYTES = 64 * 1024;

/** Comments of the text format. */
const COMMENT =
  /^#[ \t]+(?:TYPE[ \t]+[A-Za-z_:][A-Za-z0-9_:]*[ \t]+(?:counter|gauge|histogram|summary|untyped)|HELP[ \t]+[A-Za-z_:][A-Za-z0-9_:]*(?:[ \t].*)?)$/;
const CONTROL = /[\0-\x08\x0b-\x1f\x7f]/;

/** The formats of an application's metrics and of the merged ones. */
export interface LineFormats {
  readonly from: MetricsFormat;
  readonly to: MetricsFormat;
}

/**
 * Filters metrics line by line, and converts them to the format of the merged ones. A scraper rejects all metrics
 * because of a single malformed line, so that an application's would hide Envoy's.
 */
export class MetricLines {
  readonly #formats: LineFormats;
  readonly #comments = new OpenMetricsComments();
  #rest: Buffer[] = [];
  #restBytes = 0;
  #isSkipping = false;
  #dropped = 0;

  /** @param formats default: the text format in both */
  constructor(formats: LineFormats = { from: "text", to: "text" }) {
    this.#formats = formats;
  }

  /** The number of malformed lines. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds bytes and returns the well-formed lines that are complete. */
  push(chunk: Buffer): string {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      this.#keep(chunk);
      return "";
    }
    const lines = Buffer.concat([...this.#rest, chunk.subarray(0, end)])
      .toString("utf8")
      .split("\n");
    if (this.#isSkipping) {
      lines.shift();
      this.#isSkipping = false;
    }
    this.#rest = [];
    this.#restBytes = 0;
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    return this.#wellFormed(lines);
  }

  /** Returns the last line, if it has no newline. */
  end(): string {
    const last = Buffer.concat(this.#rest).toString("utf8");
    return this.#isSkipping ? "" : this.#wellFormed([last]);
  }

  #keep(bytes: Buffer): void {
    if (this.#isSkipping) return;
    this.#restBytes += bytes.length;
    if (this.#restBytes <= MAX_LINE_BYTES) {
      this.#rest.push(bytes);
      return;
    }
    this.#isSkipping = true;
    this.#dropped++;
    this.#rest = [];
  }

  #wellFormed(lines: readonly string[]): string {
    let text = "";
    for (const raw of lines) {
      const line = raw.replace(/\r$/, "");
      if (line === "") continue;
      if (line.startsWith("#")) text += CONTROL.test(line) ? "" : this.#comment(line);
      else text += this.#sample(line);
    }
    return text;
  }

  #comment(line: string): string {
    const { from, to } = this.#formats;
    if (to === "openmetrics") return this.#comments.convert(line, from);
    return COMMENT.test(line) ? `${line}\n` : "";
  }

  #sample(line: string): string {
    const { from, to } = this.#formats;
    const unit = from === "text" || to === "text" ? "milliseconds" : "seconds";
    const sample = line.length <= MAX_LINE_BYTES && !CONTROL.test(line) ? parseSample(line, unit) : undefined;
    if (sample === undefined) {
      this.#dropped++;
      return "";
    }
    return `${to === "text" ? line.slice(0, sample.end) : openMetricsLine(line, sample, unit)}\n`;
  }
}

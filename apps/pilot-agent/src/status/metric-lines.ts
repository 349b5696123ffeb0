const NEWLINE = 10;
/** Longest line in bytes. A sample with many labels has a few hundred. */
const MAX_LINE_BYTES = 64 * 1024;

const TYPE = /^#[ \t]+TYPE[ \t]+[A-Za-z_:][A-Za-z0-9_:]*[ \t]+(?:counter|gauge|histogram|summary|untyped)$/;
const HELP = /^#[ \t]+HELP[ \t]+[A-Za-z_:][A-Za-z0-9_:]*(?:[ \t].*)?$/;
/** Tokens of a sample. Each matches in one way only, so that matching takes linear time. */
const TOKEN = {
  metric: /[A-Za-z_:][A-Za-z0-9_:]*/y,
  label: /[A-Za-z_][A-Za-z0-9_]*/y,
  space: /[ \t]*/y,
  string: /"(?:[^"\\]|\\.)*"/y,
  value: /[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[Ii]nf|[Nn]a[Nn])/y,
  timestamp: /-?\d+/y,
};
const CONTROL = /[\0-\x08\x0b-\x1f\x7f]/;

/**
 * Filters metrics in Prometheus's text format line by line. A scraper rejects all metrics because of a single malformed
 * line, so that an application's would hide Envoy's.
 */
export class MetricLines {
  #rest: Buffer[] = [];
  #restBytes = 0;
  #isSkipping = false;
  #dropped = 0;

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
      if (line.startsWith("#")) {
        if (!CONTROL.test(line) && (TYPE.test(line) || HELP.test(line))) text += `${line}\n`;
        continue;
      }
      const end = line.length <= MAX_LINE_BYTES && !CONTROL.test(line) ? endOfSample(line) : undefined;
      if (end === undefined) this.#dropped++;
      else text += `${line.slice(0, end)}\n`;
    }
    return text;
  }
}

/** Returns the end of the sample in a line, before an exemplar of OpenMetrics; `undefined` if it is malformed. */
function endOfSample(line: string): number | undefined {
  const afterName = match(TOKEN.metric, line, 0);
  if (afterName === undefined) return undefined;
  const labels = skipSpace(line, afterName);
  const afterLabels = line[labels] === "{" ? endOfLabels(line, labels + 1) : afterName;
  if (afterLabels === undefined) return undefined;
  const value = skipSpace(line, afterLabels);
  if (value === afterName) return undefined;
  const afterValue = match(TOKEN.value, line, value);
  if (afterValue === undefined) return undefined;
  if (afterValue < line.length && skipSpace(line, afterValue) === afterValue) return undefined;
  const end = match(TOKEN.timestamp, line, skipSpace(line, afterValue)) ?? afterValue;
  const rest = skipSpace(line, end);
  return rest === line.length || (rest > end && line.startsWith("# {", rest)) ? end : undefined;
}

function endOfLabels(line: string, start: number): number | undefined {
  for (let at = skipSpace(line, start); ; at = skipSpace(line, at + 1)) {
    if (line[at] === "}") return at + 1;
    const equals = skipSpace(line, match(TOKEN.label, line, at) ?? line.length);
    if (line[equals] !== "=") return undefined;
    const afterValue = match(TOKEN.string, line, skipSpace(line, equals + 1));
    if (afterValue === undefined) return undefined;
    at = skipSpace(line, afterValue);
    if (line[at] === "}") return at + 1;
    if (line[at] !== ",") return undefined;
  }
}

function skipSpace(line: string, at: number): number {
  return match(TOKEN.space, line, at) ?? at;
}

/** Returns the end of a token at an offset. */
function match(token: RegExp, line: string, at: number): number | undefined {
  token.lastIndex = at;
  return token.test(line) ? token.lastIndex : undefined;
}

/** Tokens of a sample. Each matches in one way only, so that matching takes linear time. */
const TOKEN = {
  metric: /[A-Za-z_:][A-Za-z0-9_:]*/y,
  label: /[A-Za-z_][A-Za-z0-9_]*/y,
  space: /[ \t]*/y,
  string: /"(?:[^"\\]|\\.)*"/y,
  value: /[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[Ii]nf|[Nn]a[Nn])/y,
  milliseconds: /-?\d+/y,
  seconds: /-?\d+(?:\.\d+)?/y,
};

/** Offsets of a sample, or of an exemplar without a name, in its line. */
interface Sample {
  /** End of the name, where labels may begin. */
  readonly name: number;
  readonly value: number;
  readonly afterValue: number;
  /** Begin of the timestamp; -1 if there is none. */
  readonly timestamp: number;
  readonly end: number;
}

/** A line of metrics with a sample. */
export interface SampleLine extends Sample {
  /** Begin of an exemplar of OpenMetrics; -1 if there is none. */
  readonly exemplar: number;
}

/** Unit of timestamps: milliseconds in Prometheus's text format, seconds in OpenMetrics. */
type Unit = "milliseconds" | "seconds";

/** Returns the offsets of a sample; `undefined` if it is malformed. */
export function parseSample(line: string, unit: Unit): SampleLine | undefined {
  const name = match(TOKEN.metric, line, 0);
  const sample = name === undefined ? undefined : parseValue(line, name, unit);
  if (sample === undefined) return undefined;
  const rest = skipSpace(line, sample.end);
  const hasExemplar = rest < line.length;
  if (hasExemplar && (rest === sample.end || !line.startsWith("# {", rest))) return undefined;
  const { value, afterValue, timestamp, end } = sample;
  return { name: sample.name, value, afterValue, timestamp, end, exemplar: hasExemplar ? rest + 2 : -1 };
}

/** Parses labels, which begin after a name, a value and a timestamp. */
function parseValue(line: string, name: number, unit: Unit): Sample | undefined {
  const labels = skipSpace(line, name);
  const afterLabels = line[labels] === "{" ? endOfLabels(line, labels + 1) : name;
  if (afterLabels === undefined) return undefined;
  const value = skipSpace(line, afterLabels);
  if (value === name) return undefined;
  const afterValue = match(TOKEN.value, line, value);
  if (afterValue === undefined) return undefined;
  const next = skipSpace(line, afterValue);
  if (afterValue < line.length && next === afterValue) return undefined;
  const end = match(TOKEN[unit], line, next);
  return { name, value, afterValue, timestamp: end === undefined ? -1 : next, end: end ?? afterValue };
}

/** Returns the end of labels after the opening brace, and adds each label without white space to `pairs`. */
function endOfLabels(line: string, start: number, pairs?: string[]): number | undefined {
  for (let at = skipSpace(line, start); ; at = skipSpace(line, at + 1)) {
    if (line[at] === "}") return at + 1;
    const afterName = match(TOKEN.label, line, at) ?? line.length;
    const equals = skipSpace(line, afterName);
    if (line[equals] !== "=") return undefined;
    const value = skipSpace(line, equals + 1);
    const afterValue = match(TOKEN.string, line, value);
    if (afterValue === undefined) return undefined;
    pairs?.push(`${line.slice(at, afterName)}=${line.slice(value, afterValue)}`);
    at = skipSpace(line, afterValue);
    if (line[at] === "}") return at + 1;
    if (line[at] !== ",") return undefined;
  }
}

/** Returns a line of OpenMetrics. A malformed exemplar is left out. */
export function openMetricsLine(line: string, sample: SampleLine, unit: Unit): string {
  const main = `${line.slice(0, sample.name)}${written(line, sample, unit)}`;
  const exemplar = sample.exemplar < 0 ? undefined : parseValue(line, sample.exemplar, "seconds");
  const isWhole = exemplar !== undefined && skipSpace(line, exemplar.end) === line.length;
  return isWhole ? `${main} # ${written(line, exemplar, "seconds")}` : main;
}

/** Returns the labels, value and timestamp of a sample, with exactly one space between them. */
function written(line: string, { name, value, afterValue, timestamp, end }: Sample, unit: Unit): string {
  const labels = skipSpace(line, name);
  const pairs: string[] = [];
  if (line[labels] === "{") endOfLabels(line, labels + 1, pairs);
  const braces = line[labels] === "{" ? `{${pairs.join(",")}}` : "";
  const time = timestamp < 0 ? "" : ` ${inSeconds(line.slice(timestamp, end), unit)}`;
  return `${braces} ${line.slice(value, afterValue)}${time}`;
}

function inSeconds(timestamp: string, unit: Unit): string {
  return unit === "seconds" ? timestamp : String(Number(timestamp) / 1000);
}

function skipSpace(line: string, at: number): number {
  return match(TOKEN.space, line, at) ?? at;
}

/** Returns the end of a token at an offset. */
function match(token: RegExp, line: string, at: number): number | undefined {
  token.lastIndex = at;
  return token.test(line) ? token.lastIndex : undefined;
}

/** A sample of a time series. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Metrics in Prometheus' text format. */
export interface Exposition {
  /** Types by the name of the metric. */
  readonly types: ReadonlyMap<string, string>;
  /** Samples by name; those of a histogram have the names `_bucket`, `_sum` and `_count`. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  /** Returns the value of the sample with these labels, and perhaps others; undefined if there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

/** Fetches the metrics of a server. */
export async function scrape(server: { readonly http: string }): Promise<Exposition> {
  return parseExposition(await (await fetch(`${server.http}/metrics`)).text());
}

/**
 * Parses Prometheus' text format.
 *
 * @throws Error that names a line that is neither a comment nor a sample
 */
export function parseExposition(text: string): Exposition {
  const types = new Map<string, string>();
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n").filter((each) => each !== "")) {
    if (line.startsWith("#")) {
      const [, keyword, name = "", type = ""] = line.split(" ");
      if (keyword === "TYPE") types.set(name, type);
      continue;
    }
    const { name, ...sample } = parseSample(line);
    samples.set(name, [...(samples.get(name) ?? []), sample]);
  }
  const value = (name: string, labels: Readonly<Record<string, string>> = {}): number | undefined =>
    samples.get(name)?.find((sample) => Object.entries(labels).every(([key, text]) => sample.labels[key] === text))
      ?.value;
  return { types, samples, value };
}

const samplePattern = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>(?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (?<value>\S+)$/;

function parseSample(line: string): Sample & { readonly name: string } {
  const { name, labels = "", value } = samplePattern.exec(line)?.groups ?? {};
  if (name === undefined || value === undefined) throw new Error(`not a sample: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, key = "", text = ""]) => [key, unescapeLabel(text)])),
    value: parseValue(value),
  };
}

function parseValue(text: string): number {
  const named: Readonly<Record<string, number>> = { "+Inf": Infinity, "-Inf": -Infinity, Nan: NaN, NaN };
  return named[text] ?? Number(text);
}

function unescapeLabel(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

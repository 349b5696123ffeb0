import { reasonOf } from "@istiod/runtime";
import { RE2JS } from "re2js";
import { parseGoDuration } from "../go-duration.js";
import { unknownUnicodeClass } from "./regex-classes.js";

/** Annotations of a pod that set the statistics of its proxy. */
export const statsAnnotations = {
  prefixes: "sidecar.istio.io/statsInclusionPrefixes",
  suffixes: "sidecar.istio.io/statsInclusionSuffixes",
  regexps: "sidecar.istio.io/statsInclusionRegexps",
  tags: "sidecar.istio.io/extraStatTags",
  buckets: "sidecar.istio.io/statsHistogramBuckets",
  flush: "sidecar.istio.io/statsFlushInterval",
  eviction: "sidecar.istio.io/statsEvictionInterval",
} as const;

const millisecond = 1_000_000n;
/** Flush interval in nanoseconds if none is set. */
const defaultFlush = 5_000n * millisecond;
/** Exclusive upper bound of the flush interval in nanoseconds. */
const flushLimit = 300_000n * millisecond;
/** Maximum duration in nanoseconds. */
const longest = 9_223_372_035_000n * millisecond;

/** Maximum number of instructions of a pattern. Envoy compiles all that are far smaller than 8 MiB. */
const maxInstructions = 10_000;

/** Maximum length in bytes of the expression that extracts a tag, and the expression without the tag's name. */
const maxTagExpression = 1024;
const tagExpression = (name: string): string => String.raw`(${name}=\.=(.*?);\.;)`;

/** Returns the fault of an annotation by its name; Envoy would exit with it. */
type Faults = Readonly<Record<string, string>>;

/** Returns the faults of the annotations that set statistics, with which Envoy would exit, by annotation. */
export function statsAnnotationFaults(annotations: Readonly<Record<string, string>>): Faults {
  const faults: Record<string, string> = {};
  const check = (name: string, fault: (value: string) => string | undefined): void => {
    const value = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
    const found = value === undefined ? undefined : fault(value);
    if (found !== undefined) faults[name] = found;
  };
  const { prefixes, suffixes, regexps, tags, buckets, flush, eviction } = statsAnnotations;
  check(prefixes, listOf(statsNameFault));
  check(suffixes, listOf(statsNameFault));
  check(regexps, listOf(statsRegexFault));
  check(tags, (value) => firstFault(value.split(",").filter(Boolean), statsTagFault));
  check(buckets, (value) => {
    const read = readHistogramBuckets(value);
    return typeof read === "string" ? read : undefined;
  });
  check(flush, flushFault);
  check(eviction, (value) => evictionFault(value, flush in faults ? undefined : annotations[flush]));
  return faults;
}

/** Returns the reason why Envoy would exit with a prefix or suffix of statistics to include. */
export function statsNameFault(name: string): string | undefined {
  return name === "" ? "has an empty element, expected the beginnings or ends of names" : undefined;
}

/** Returns the reason why Envoy would exit with a pattern of statistics to include. `{pod_ip}` stands for addresses. */
export function statsRegexFault(pattern: string): string | undefined {
  if (pattern === "") return "has an empty element, expected patterns";
  const expanded = pattern.replaceAll("{pod_ip}", "10.0.0.1");
  const wide = wideEscape(expanded);
  if (wide !== undefined) return `has ${wide} in ${JSON.stringify(pattern)}, expected the character itself`;
  const unknown = unknownUnicodeClass(expanded);
  if (unknown !== undefined) return `has ${unknown} in ${JSON.stringify(pattern)}, which is not a class of RE2`;
  try {
    const size = RE2JS.compile(expanded).programSize();
    return size <= maxInstructions
      ? undefined
      : `has ${JSON.stringify(pattern)}, which compiles to more than ${maxInstructions} instructions`;
  } catch (cause) {
    return `has ${JSON.stringify(pattern)}, which is not an RE2 pattern: ${reasonOf(cause)}`;
  }
}

/** Returns the reason why Envoy would exit with the name of an additional tag, which becomes part of a pattern. */
export function statsTagFault(name: string): string | undefined {
  if (name === "") return "has an empty element, expected names of tags";
  const expression = tagExpression(name);
  if (Buffer.byteLength(expression) > maxTagExpression)
    return `has ${JSON.stringify(name.slice(0, 30))}…, expected at most ${maxTagExpression - tagExpression("").length} bytes`;
  try {
    // Envoy's standard expressions are JavaScript's, apart from groups that were added later.
    if (/\(\?(?![:=!])/.test(name)) throw new SyntaxError("it has an unknown group");
    new RegExp(expression);
    return undefined;
  } catch {
    return `has ${JSON.stringify(name)}, expected the name of a tag`;
  }
}

/** Returns the buckets of histograms by the prefix of their names, or the reason why Envoy would exit with them. */
export function readHistogramBuckets(text: string): ReadonlyMap<string, readonly number[]> | string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return "is not JSON, expected lists of bounds by prefix";
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) return "expected lists of bounds by prefix";
  const buckets = new Map<string, readonly number[]>();
  for (const [prefix, bounds] of Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (prefix === "") return "has an empty prefix, expected the beginnings of names";
    if (!isBounds(bounds)) return `has ${JSON.stringify(prefix)}, expected a list of different numbers above 0`;
    buckets.set(prefix, bounds);
  }
  return buckets;
}

function isBounds(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.every((bound) => typeof bound === "number" && Number.isFinite(bound) && bound > 0) &&
    new Set(value).size === value.length
  );
}

function flushFault(text: string): string | undefined {
  const interval = parseGoDuration(text);
  if (interval === undefined) return `is ${JSON.stringify(text)}, expected a duration such as 500ms`;
  return interval >= millisecond && interval < flushLimit
    ? undefined
    : `is ${JSON.stringify(text)}, expected 1ms to less than 5m`;
}

function evictionFault(text: string, flush: string | undefined): string | undefined {
  const interval = parseGoDuration(text);
  if (interval === undefined) return `is ${JSON.stringify(text)}, expected a duration such as 30s`;
  if (interval < millisecond || interval > longest)
    return `is ${JSON.stringify(text)}, expected 1ms to ${longest / (1_000n * millisecond)}s`;
  const flushed = (flush === undefined ? undefined : parseGoDuration(flush)) ?? defaultFlush;
  return (interval / millisecond) % (flushed / millisecond) === 0n
    ? undefined
    : `is ${JSON.stringify(text)}, expected a multiple of the flush interval, ${flush ?? "5s"}`;
}

const listOf =
  (fault: (element: string) => string | undefined) =>
  (value: string): string | undefined =>
    value === "" ? undefined : firstFault(value.split(","), fault);

function firstFault(elements: readonly string[], fault: (element: string) => string | undefined): string | undefined {
  return elements.map(fault).find((found) => found !== undefined);
}

/** Returns an escape sequence of a character beyond Latin-1, which Envoy's patterns do not have. */
function wideEscape(pattern: string): string | undefined {
  for (const [escape, hexadecimal] of pattern.matchAll(/\\(?:x\{([0-9A-Fa-f]+)\}|[^])/g))
    if (hexadecimal !== undefined && Number.parseInt(hexadecimal, 16) > 0xff) return escape;
  return undefined;
}

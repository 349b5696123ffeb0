import { nearestNames } from "./nearest-names.js";
import type { Environment } from "./setting.js";

export interface EnvironmentReportOptions {
  readonly env: Environment;
  /** Names of the variables that this program reads. */
  readonly read: Iterable<string>;
  /** Names of the variables that Istio's program reads. */
  readonly istio: Iterable<string>;
  /** Names of variables that only other programs of Istio read. */
  readonly elsewhere?: Iterable<string>;
  /** Prefixes of further variables that are read. */
  readonly readPrefixes?: readonly string[];
}

/** Variables that are set and ignored. */
export interface EnvironmentReport {
  /** Variables of Istio that this program does not read, sorted. */
  readonly ignored: readonly string[];
  /** Unknown variables with a prefix of Istio's, or with a known name in other case, sorted, with similar names. */
  readonly unknown: readonly { readonly name: string; readonly suggestions: readonly string[] }[];
}

/** Prefixes of the variables that are meant for Istio. */
const istioPrefixes = ["PILOT_", "ISTIO_", "ISTIOD_", "CITADEL_", "AMBIENT_", "XDS_"];

/**
 * Variables that Kubernetes sets in every container for the Services of its namespace, such as
 * `ISTIOD_PORT_15012_TCP_ADDR`.
 */
const serviceLink = /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$|_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?$/;

/** Finds the variables of an environment that are ignored. Empty variables count as absent. */
export function environmentReport({
  env,
  read,
  istio,
  elsewhere = [],
  readPrefixes = [],
}: EnvironmentReportOptions): EnvironmentReport {
  const [isRead, isIstio, isElsewhere] = [new Set(read), new Set(istio), new Set(elsewhere)];
  const known = new Set([...isRead, ...isIstio]);
  const set = Object.keys(env)
    .filter((name) => (env[name] ?? "") !== "")
    .sort();
  const unread = set.filter((name) => !isRead.has(name) && !readPrefixes.some((prefix) => name.startsWith(prefix)));
  const hasIstioPrefix = (name: string): boolean =>
    istioPrefixes.some((prefix) => name.startsWith(prefix)) && !serviceLink.test(name);
  const inOtherCase = (name: string): boolean => {
    const upper = name.toUpperCase();
    // Names without an underscore, such as `Path` or `hostname`, belong to other programs.
    return name !== upper && (hasIstioPrefix(upper) || (upper.includes("_") && known.has(upper)));
  };
  return {
    ignored: unread.filter((name) => isIstio.has(name)),
    unknown: unread
      .filter((name) => !known.has(name) && !isElsewhere.has(name) && (hasIstioPrefix(name) || inOtherCase(name)))
      .map((name) => ({
        name,
        suggestions: known.has(name.toUpperCase()) ? [name.toUpperCase()] : nearestNames(name.toUpperCase(), known, 1),
      })),
  };
}

/** Returns the report as log lines: one for all ignored variables, and one for each unknown variable. */
export function environmentWarnings({ ignored, unknown }: EnvironmentReport): readonly string[] {
  return [
    ...(ignored.length === 0 ? [] : [`environment variables without effect are ignored: ${ignored.join(", ")}`]),
    ...unknown.map(({ name, suggestions }) => `unknown environment variable ${name}${didYouMean(suggestions)}`),
  ];
}

/** Returns `; did you mean A or B?`, or an empty string without suggestions. */
export function didYouMean(suggestions: readonly string[]): string {
  return suggestions.length === 0 ? "" : `; did you mean ${suggestions.join(" or ")}?`;
}

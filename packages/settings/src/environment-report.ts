import { nearestNames } from "./nearest-names.js";
import type { Environment } from "./variable.js";

export interface EnvironmentReportOptions {
  readonly env: Environment;
  /** Names of the variables that this program reads. */
  readonly read: Iterable<string>;
  /** Names of the variables that the same program of Istio's reads. */
  readonly istio: Iterable<string>;
  /** Names of further variables that Istio knows, but not in this program. */
  readonly elsewhere?: Iterable<string>;
  /** Prefixes of variables that are read whatever follows. */
  readonly readPrefixes?: readonly string[];
}

/** Variables that are set and do not do what whoever set them expects. */
export interface EnvironmentReport {
  /** Variables of Istio's that this program does not read, sorted. */
  readonly ineffective: readonly string[];
  /** Variables that look like Istio's and are unknown, sorted, with the names they may be misspellings of. */
  readonly unknown: readonly { readonly name: string; readonly suggestions: readonly string[] }[];
}

/** Prefixes by which a variable counts as meant for Istio. */
const istioPrefixes = ["PILOT_", "ISTIO_", "ISTIOD_", "CITADEL_", "AMBIENT_", "XDS_"];

/**
 * Variables that Kubernetes sets in every container for the Services of its namespace, such as
 * `ISTIOD_PORT_15012_TCP_ADDR`.
 */
const serviceLink = /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$|_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?$/;

/** Finds the variables of an environment that have no effect. Empty variables count as absent. */
export function environmentReport({
  env,
  read,
  istio,
  elsewhere = [],
  readPrefixes = [],
}: EnvironmentReportOptions): EnvironmentReport {
  const [isRead, isIstios, isElsewhere] = [new Set(read), new Set(istio), new Set(elsewhere)];
  const known = new Set([...isRead, ...isIstios]);
  const set = Object.keys(env)
    .filter((name) => (env[name] ?? "") !== "")
    .sort();
  const unread = set.filter((name) => !isRead.has(name) && !readPrefixes.some((prefix) => name.startsWith(prefix)));
  const looksLikeIstios = (name: string): boolean =>
    istioPrefixes.some((prefix) => name.startsWith(prefix)) && !serviceLink.test(name);
  return {
    ineffective: unread.filter((name) => isIstios.has(name)),
    unknown: unread
      .filter((name) => !known.has(name) && !isElsewhere.has(name) && looksLikeIstios(name))
      .map((name) => ({ name, suggestions: nearestNames(name, known, 1) })),
  };
}

/** Returns the report as lines of a log: one for all variables without effect, and one for each unknown variable. */
export function environmentWarnings(report: EnvironmentReport): readonly string[] {
  const { ineffective, unknown } = report;
  return [
    ...(ineffective.length === 0
      ? []
      : [
          `environment variables without effect, because what they configure is not implemented yet: ${ineffective.join(", ")}`,
        ]),
    ...unknown.map(({ name, suggestions }) => `environment variable ${name} is not known${didYouMean(suggestions)}`),
  ];
}

/** Returns `; did you mean A or B?`, empty where there is nothing to suggest. */
export function didYouMean(suggestions: readonly string[]): string {
  return suggestions.length === 0 ? "" : `; did you mean ${suggestions.join(" or ")}?`;
}

import { create } from "@bufbuild/protobuf";
import {
  type FilterChainMatch,
  FilterChainMatchSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { parseCidrRange } from "../envoy/cidr.js";
import { formatMaskedPrefix, parseIpPrefix } from "../envoy/ip-prefix.js";

/** The connections that a filter chain matches; absent or empty fields match everything. */
export interface ChainMatch {
  readonly sniHosts?: readonly string[];
  /** Addresses or CIDRs. */
  readonly destinations?: readonly string[];
  readonly applicationProtocols?: readonly string[];
  readonly transportProtocol?: string;
}

const unspecified = "0.0.0.0";

/** Reports whether a chain matches every connection that no other chain matches. */
export function matchesEverything({
  sniHosts = [],
  destinations = [],
  applicationProtocols = [],
  transportProtocol = "",
}: ChainMatch): boolean {
  return (
    (sniHosts.length === 0 || sniHosts.includes("*")) &&
    applicationProtocols.length === 0 &&
    transportProtocol === "" &&
    destinations.length === 0
  );
}

/** A match without the SNI hosts that Envoy does not support, and those hosts. */
interface SupportedMatch {
  /** Undefined if no SNI host is left, so that the chain would match other connections than it should. */
  readonly match: ChainMatch | undefined;
  readonly unsupported: readonly string[];
}

/**
 * Removes SNI hosts with a partial wildcard such as `*-a.example.com`. Envoy supports only `*` and `*.example.com`, and
 * rejects a listener with others.
 */
export function supportedMatch(match: ChainMatch): SupportedMatch {
  const { sniHosts = [] } = match;
  const unsupported = sniHosts.filter((host) => host.includes("*") && host !== "*" && !host.startsWith("*."));
  if (unsupported.length === 0) return { match, unsupported };
  const supported = sniHosts.filter((host) => !unsupported.includes(host));
  return { match: supported.length === 0 ? undefined : { ...match, sniHosts: supported }, unsupported };
}

/** Returns a match in Envoy's form; undefined if it matches everything. */
export function filterChainMatch(match: ChainMatch): FilterChainMatch | undefined {
  if (matchesEverything(match)) return undefined;
  const { sniHosts = [], destinations = [], applicationProtocols = [], transportProtocol = "" } = match;
  return create(FilterChainMatchSchema, {
    applicationProtocols: [...applicationProtocols],
    transportProtocol,
    serverNames: sniHosts.includes("*") ? [] : distinctNames(sniHosts),
    prefixRanges: distinctRanges(destinations).flatMap((text) => {
      const range = parseCidrRange(text);
      return range === undefined || range.addressPrefix === unspecified ? [] : [range];
    }),
  });
}

/** Returns one name of those that differ only in case, sorted: Envoy ignores case, and rejects a name twice. */
function distinctNames(names: readonly string[]): string[] {
  const byName = new Map<string, string>();
  for (const name of [...names].sort()) if (!byName.has(name.toLowerCase())) byName.set(name.toLowerCase(), name);
  return [...byName.values()];
}

/** Returns one text for each range, sorted: Envoy rejects a chain that names a range twice. */
function distinctRanges(destinations: readonly string[]): readonly string[] {
  const byRange = new Map<string, string>();
  for (const text of [...destinations].sort()) {
    const prefix = parseIpPrefix(text);
    const range = prefix === undefined ? text : formatMaskedPrefix(prefix);
    if (!byRange.has(range)) byRange.set(range, text);
  }
  return [...byRange.values()];
}

/**
 * The matches of one listener's filter chains. Envoy rejects a listener whole if two of its chains share a combination
 * of destination range, SNI, transport protocol and application protocol.
 */
export class ClaimedMatches<T> {
  readonly #claims = new Map<string, { readonly match: MatchSets; readonly owner: T }[]>();

  /** Claims a match. If another one shares a combination with it, returns that one's owner, and claims nothing. */
  claim(match: ChainMatch, owner: T): T | undefined {
    const claimed = matchSets(match);
    const buckets = [...claimed.serverNames].map((name) => `${claimed.transportProtocol} ${name}`);
    for (const bucket of buckets) {
      const other = this.#claims.get(bucket)?.find(({ match: existing }) => overlap(existing, claimed));
      if (other !== undefined) return other.owner;
    }
    for (const bucket of buckets) {
      const entries = this.#claims.get(bucket);
      if (entries === undefined) this.#claims.set(bucket, [{ match: claimed, owner }]);
      else entries.push({ match: claimed, owner });
    }
    return undefined;
  }
}

/** The values of each criterion. A chain without a criterion has the value "". */
interface MatchSets {
  readonly transportProtocol: string;
  readonly serverNames: ReadonlySet<string>;
  readonly applicationProtocols: ReadonlySet<string>;
  readonly destinations: ReadonlySet<string>;
}

function matchSets({
  sniHosts = [],
  destinations = [],
  applicationProtocols = [],
  transportProtocol = "",
}: ChainMatch): MatchSets {
  const ranges = destinations.flatMap((text) => {
    const prefix = parseIpPrefix(text);
    return prefix === undefined || prefix.address === unspecified ? [] : [formatMaskedPrefix(prefix)];
  });
  return {
    transportProtocol,
    serverNames: orAny(sniHosts.includes("*") ? [] : sniHosts.map((host) => host.toLowerCase())),
    applicationProtocols: orAny(applicationProtocols),
    destinations: orAny(ranges),
  };
}

function orAny(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.length === 0 ? [""] : values);
}

function overlap(a: MatchSets, b: MatchSets): boolean {
  return intersect(a.applicationProtocols, b.applicationProtocols) && intersect(a.destinations, b.destinations);
}

function intersect(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const value of a) if (b.has(value)) return true;
  return false;
}

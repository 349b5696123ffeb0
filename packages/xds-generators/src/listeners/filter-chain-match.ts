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

/** The match that a chain keeps, and the values that it loses to chains that were claimed before. */
export interface Claim<T> {
  /** Undefined if nothing is left. */
  readonly match: ChainMatch | undefined;
  readonly lost: readonly LostValues<T>[];
}

/** Values that another chain of the listener has already. */
export interface LostValues<T> {
  readonly owner: T;
  /** SNI hosts or ranges of destinations, as in Envoy's form; empty if all connections are lost. */
  readonly values: readonly string[];
}

/**
 * The matches of one listener's filter chains. Envoy rejects a listener whole if two of its chains share a combination
 * of destination range, SNI, transport protocol and application protocol.
 */
export class ClaimedMatches<T> {
  readonly #claims = new Map<string, { readonly match: MatchSets; readonly owner: T }[]>();

  /**
   * Claims a match, without what it shares with those that were claimed before: the SNI hosts in common, or, if no
   * others are left, the ranges of destinations in common.
   */
  claim(match: ChainMatch, owner: T): Claim<T> {
    const sets = matchSets(match);
    const names = this.#taken(sets.serverNames, (name) => this.#overlapping(sets, name));
    if (names.size === 0) return this.#add(match, owner, []);
    if (names.size < sets.serverNames.size) {
      const sniHosts = match.sniHosts?.filter((host) => !names.has(host.toLowerCase())) ?? [];
      return this.#add({ ...match, sniHosts }, owner, lostValues(names));
    }
    const ranges = this.#taken(sets.destinations, (range) => {
      const ofRange = { ...sets, destinations: new Set([range]) };
      return [...sets.serverNames].flatMap((name) => this.#overlapping(ofRange, name) ?? [])[0];
    });
    const lost = lostValues(ranges);
    if (ranges.size < sets.destinations.size) {
      const destinations = match.destinations?.filter((text) => !ranges.has(rangeOf(text) ?? "")) ?? [];
      return this.#add({ ...match, destinations }, owner, lost);
    }
    return { match: undefined, lost: lost.map((each) => ({ ...each, values: [] })) };
  }

  #add(match: ChainMatch, owner: T, lost: readonly LostValues<T>[]): Claim<T> {
    const sets = matchSets(match);
    for (const name of sets.serverNames) {
      const bucket = bucketOf(sets, name);
      const entries = this.#claims.get(bucket);
      if (entries === undefined) this.#claims.set(bucket, [{ match: sets, owner }]);
      else entries.push({ match: sets, owner });
    }
    return { match, lost };
  }

  /** Returns the values that have an owner, with it. */
  #taken(values: ReadonlySet<string>, ownerOf: (value: string) => { readonly owner: T } | undefined): Map<string, T> {
    const taken = new Map<string, T>();
    for (const value of values) {
      const found = ownerOf(value);
      if (found !== undefined) taken.set(value, found.owner);
    }
    return taken;
  }

  #overlapping(sets: MatchSets, name: string): { readonly owner: T } | undefined {
    return this.#claims.get(bucketOf(sets, name))?.find(({ match }) => overlap(match, sets));
  }
}

/** Claims are found by what every overlapping one shares. */
function bucketOf({ transportProtocol }: MatchSets, name: string): string {
  return `${transportProtocol} ${name}`;
}

/** Groups lost values by owner. */
function lostValues<T>(values: ReadonlyMap<string, T>): readonly LostValues<T>[] {
  const owners = new Map<T, string[]>();
  for (const [value, owner] of values) {
    const ofOwner = owners.get(owner);
    if (ofOwner === undefined) owners.set(owner, [value]);
    else ofOwner.push(value);
  }
  return [...owners].map(([owner, ofOwner]) => ({ owner, values: ofOwner }));
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
  const ranges = destinations.flatMap((text) => rangeOf(text) ?? []);
  return {
    transportProtocol,
    serverNames: orAny(sniHosts.includes("*") ? [] : sniHosts.map((host) => host.toLowerCase())),
    applicationProtocols: orAny(applicationProtocols),
    destinations: orAny(ranges),
  };
}

/** Returns a range in one form for equal ranges; undefined for one that does not restrict the match. */
function rangeOf(text: string): string | undefined {
  const prefix = parseIpPrefix(text);
  return prefix === undefined || prefix.address === unspecified ? undefined : formatMaskedPrefix(prefix);
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

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

/** Returns a match in Envoy's form; undefined if it matches everything. */
export function filterChainMatch(match: ChainMatch): FilterChainMatch | undefined {
  if (matchesEverything(match)) return undefined;
  const { sniHosts = [], destinations = [], applicationProtocols = [], transportProtocol = "" } = match;
  return create(FilterChainMatchSchema, {
    applicationProtocols: [...applicationProtocols],
    transportProtocol,
    serverNames: sniHosts.includes("*") ? [] : [...sniHosts].sort(),
    prefixRanges: [...destinations].sort().flatMap((text) => {
      const range = parseCidrRange(text);
      return range === undefined || range.addressPrefix === unspecified ? [] : [range];
    }),
  });
}

/** Reports whether Envoy would reject two chains as duplicates: neither order nor bits beyond a prefix matter. */
export function areEquivalentMatches(a: ChainMatch, b: ChainMatch): boolean {
  return (
    (a.transportProtocol ?? "") === (b.transportProtocol ?? "") &&
    sameList(a.applicationProtocols ?? [], b.applicationProtocols ?? []) &&
    sameSet(sniNames(a), sniNames(b)) &&
    sameSet(destinationRanges(a), destinationRanges(b))
  );
}

function sniNames({ sniHosts = [] }: ChainMatch): ReadonlySet<string> {
  return new Set(sniHosts.filter((host) => host !== "*"));
}

function destinationRanges({ destinations = [] }: ChainMatch): ReadonlySet<string> {
  return new Set(
    destinations.flatMap((text) => {
      const prefix = parseIpPrefix(text);
      return prefix === undefined || prefix.address === unspecified ? [] : [formatMaskedPrefix(prefix)];
    }),
  );
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((item) => b.has(item));
}

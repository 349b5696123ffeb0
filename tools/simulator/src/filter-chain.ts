import type { CidrRange } from "@istiod/envoy-api/envoy/config/core/v3/address";
import type { FilterChain, FilterChainMatch } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { prefixLength } from "./cidr.js";

/** Properties of a connection that a filter chain can match. */
export interface Connection {
  readonly address: string;
  readonly port: number;
  /** Lower case; empty where none is known. */
  readonly serverName: string;
  readonly transportProtocol: "tls" | "raw_buffer";
  readonly applicationProtocols: readonly string[];
}

/** Scores a chain by one criterion; undefined if it does not match. A chain without the criterion scores lowest. */
type Fit = (match: FilterChainMatch | undefined, connection: Connection) => number | undefined;

const unsaid = 0;

/**
 * The criteria in the order of Envoy's FilterChainMatch. After each, only the chains that fit best are left, and there
 * is no way back: where a chain names the connection's port, one that names none is out even if the first fails later.
 */
const criteria: readonly Fit[] = [byPort, byAddress, byServerName, byTransport, byApplication];

/** The chains that a connection fits equally well: Envoy refuses a listener where there can be more than one. */
export function chooseFilterChains(chains: readonly FilterChain[], connection: Connection): readonly FilterChain[] {
  return criteria.reduce((left: readonly FilterChain[], fit) => {
    const fits = left.map((chain) => fit(chain.filterChainMatch, connection));
    const best = Math.max(...fits.map((value) => value ?? -1));
    return left.filter((_, i) => fits[i] !== undefined && fits[i] === best);
  }, chains);
}

function byPort(match: FilterChainMatch | undefined, { port }: Connection): number | undefined {
  const wanted = match?.destinationPort;
  return wanted === undefined ? unsaid : wanted === port ? 1 : undefined;
}

/** The longest prefix wins. */
function byAddress(match: FilterChainMatch | undefined, { address }: Connection): number | undefined {
  return best(match?.prefixRanges ?? [], (range: CidrRange) => {
    const bits = prefixLength(range, address);
    return bits === undefined ? undefined : bits + 1;
  });
}

/** The name itself, then the longest `*.suffix`. */
function byServerName(match: FilterChainMatch | undefined, { serverName }: Connection): number | undefined {
  return best(match?.serverNames ?? [], (name) => {
    if (name === "*") return unsaid;
    if (name === serverName) return Number.MAX_SAFE_INTEGER;
    return name.startsWith("*.") && serverName.endsWith(name.slice(1)) && serverName.length >= name.length
      ? name.length
      : undefined;
  });
}

function byTransport(match: FilterChainMatch | undefined, { transportProtocol }: Connection): number | undefined {
  const wanted = match?.transportProtocol ?? "";
  return wanted === "" ? unsaid : wanted === transportProtocol ? 1 : undefined;
}

/** Prefers the client's first protocols. */
function byApplication(match: FilterChainMatch | undefined, { applicationProtocols }: Connection): number | undefined {
  return best(match?.applicationProtocols ?? [], (name) => {
    const at = applicationProtocols.indexOf(name);
    return at < 0 ? undefined : applicationProtocols.length - at;
  });
}

function best<T>(wanted: readonly T[], fit: (value: T) => number | undefined): number | undefined {
  if (wanted.length === 0) return unsaid;
  const fits = wanted.flatMap((value) => fit(value) ?? []);
  return fits.length === 0 ? undefined : Math.max(...fits);
}

import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { JwksError } from "../jwks-error.js";

/** Resolves all addresses of a host, as `dns.lookup` does with `all`. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** Resolves names by the system's resolver. */
export const systemResolve: Resolve = (host, done) => systemLookup(host, { all: true }, done);

/** Returns the reason why an address must not be reached; undefined if it may. */
export type BlockedReason = (address: string) => string | undefined;

/**
 * Returns the lookup of a connection, which yields allowed addresses only. The connection uses the very addresses that
 * were checked, so that a name that resolves to another address the next time (DNS rebinding) gains nothing.
 */
export function checkedLookup(resolve: Resolve, blockedReason: BlockedReason): LookupFunction {
  return (host, { all, family }, done) => {
    resolve(host, (error, addresses) => {
      if (error !== null) return done(error, "");
      const version = family === "IPv4" ? 4 : family === "IPv6" ? 6 : (family ?? 0);
      const candidates = addresses.filter((each) => version === 0 || each.family === version);
      const allowed = candidates.filter(({ address }) => blockedReason(address) === undefined);
      const [first] = allowed;
      if (first === undefined) return done(unreachable(host, candidates, blockedReason), "");
      return all === true ? done(null, allowed) : done(null, first.address, first.family);
    });
  };
}

/** Checks a host that is an IP address, for which a connection has no lookup. @throws JwksError if it is blocked */
export function checkAddress(host: string, blockedReason: BlockedReason): void {
  const address = host.replace(/^\[|\]$/g, "");
  const reason = isIP(address) === 0 ? undefined : blockedReason(address);
  if (reason !== undefined) throw new JwksError("address", `${address} ${reason}`);
}

function unreachable(host: string, [first]: readonly LookupAddress[], blockedReason: BlockedReason): JwksError {
  if (first === undefined) return new JwksError("connection", `${host} has no addresses`);
  return new JwksError("address", `${host} resolves to ${first.address}, which ${blockedReason(first.address) ?? ""}`);
}

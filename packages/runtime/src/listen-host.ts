import { lookup as systemLookup } from "node:dns/promises";
import { isIP } from "node:net";

type Lookup = (host: string, options: { readonly all: true }) => Promise<readonly { readonly address: string }[]>;

/**
 * Returns the address to listen on for a host: an IPv4 address if the name has one, as Go's `net.Listen` chooses.
 * Node.js takes the first address, which is `::1` for `localhost` where the hosts file has both.
 *
 * @param host undefined, or an address, which is returned as it is
 * @throws Error with the resolver's code, such as `ENOTFOUND`
 */
export async function listenHost<T extends string | undefined>(
  host: T,
  lookup: Lookup = systemLookup,
): Promise<T | string> {
  if (host === undefined || host === "" || isIP(host) !== 0) return host;
  const addresses = (await lookup(host, { all: true })).map(({ address }) => address);
  return addresses.find((address) => isIP(address) === 4) ?? addresses[0] ?? host;
}

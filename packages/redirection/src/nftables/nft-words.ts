import { addressFamily, type AddressFamily } from "../address-family.js";
import { type CaptureConfig, splitList } from "../capture-config.js";
import { nftKeywords } from "./nft-keywords.js";

/** An IP family in the language of nft(8). */
export interface NftFamily extends AddressFamily {
  readonly ip: "ip" | "ip6";
}

/** Returns the IP families of a configuration. */
export function nftFamilies(config: CaptureConfig): readonly NftFamily[] {
  const v4: NftFamily = { ip: "ip", ...addressFamily(config, 4) };
  return config.ipv6 ? [v4, { ip: "ip6", ...addressFamily(config, 6) }] : [v4];
}

/** Splits a list of ports. The ranges of iptables, such as `8000:8010`, are `8000-8010` for nft. */
export function nftPorts(list: string): string[] {
  return splitList(list).map((port) => port.replace(":", "-"));
}

/** Splits a list of interfaces. `eth+` of iptables, for all whose names begin with eth, is `eth*` for nft. */
export function nftInterfaces(list: string): string[] {
  return splitList(list).map((name) => nftName(name.replace(/\+$/, "*")));
}

/** Splits lists of users and groups, as matches of the owner of a socket. */
export function nftOwners(users: string, groups: string): NftOwner[] {
  return [
    ...splitList(users).map((user) => ({ key: "skuid" as const, name: nftName(user) })),
    ...splitList(groups).map((group) => ({ key: "skgid" as const, name: nftName(group) })),
  ];
}

/** The owner of a socket: a user or a group. */
export interface NftOwner {
  readonly key: "skuid" | "skgid";
  readonly name: string;
}

/** Quotes a name that nft would not read as one word, or would read as a keyword, such as the user `list` of Debian. */
function nftName(name: string): string {
  return /^(\d+|[A-Za-z][\w.-]*)$/.test(name) && !nftKeywords.has(name) ? name : `"${name}"`;
}

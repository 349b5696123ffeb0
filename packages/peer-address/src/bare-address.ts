import { isIP } from "node:net";

/** An address without a zone; IPv4-mapped ones as IPv4. */
export interface BareAddress {
  readonly text: string;
  /** Undefined if it is not an IP address. */
  readonly family: "ipv4" | "ipv6" | undefined;
}

export function bareAddress(address: string): BareAddress {
  const text = address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  return { text, family: families[isIP(text)] };
}

const families: Readonly<Record<number, BareAddress["family"]>> = { 4: "ipv4", 6: "ipv6" };

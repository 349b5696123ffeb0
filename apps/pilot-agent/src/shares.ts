import { isIPv6 } from "node:net";

/**
 * A bounded number of slots, of which one client gets half at most, so that it cannot exhaust those of the others. The
 * addresses of an IPv6 /64 network are one client, because a host may use all of them.
 */
export class Shares {
  readonly #total: number;
  readonly #perClient: number;
  readonly #used = new Map<string, number>();
  #count = 0;

  constructor(total: number, perClient = Math.max(1, Math.floor(total / 2))) {
    this.#total = total;
    this.#perClient = perClient;
  }

  get inUse(): number {
    return this.#count;
  }

  /** Takes a slot. @returns releases it, once; `undefined` if all slots or those of the client are in use */
  take(address: string): (() => void) | undefined {
    const client = clientOf(address);
    const used = this.#used.get(client) ?? 0;
    if (this.#count >= this.#total || used >= this.#perClient) return undefined;
    this.#count++;
    this.#used.set(client, used + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#count--;
      const left = (this.#used.get(client) ?? 1) - 1;
      if (left > 0) this.#used.set(client, left);
      else this.#used.delete(client);
    };
  }
}

/** Returns the IPv4 address, or the /64 network of an IPv6 address. */
export function clientOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  if (!isIPv6(address)) return address;
  const [front = "", back] = address.replace(/%.*$/, "").split("::");
  const groups = front === "" ? [] : front.split(":");
  const after = back === undefined || back === "" ? [] : back.split(":");
  const zeros = back === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - after.length)).fill("0");
  return [...groups, ...zeros, ...after].slice(0, 4).join(":");
}

import { addressGroup } from "@istiod/peer-address";

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
    const client = addressGroup(address);
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

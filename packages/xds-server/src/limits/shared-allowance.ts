import { addressGroup } from "@istiod/peer-address";
import type { Peer } from "../source.js";

/** Bytes that each stream may use without counting towards the total. */
const freeBytes = 64 * 1024;

interface Share {
  bytes: number;
  /** Charged bytes by stream, the latest stream last. */
  readonly streams: Map<Sharer, number>;
}

/** A stream that uses part of an allowance. */
export interface Sharer {
  /** Ends the stream because the allowance is used up. */
  exceeded(totalBytes: number): void;
}

/**
 * Memory that a class of streams shares. If it is used up, the streams of the identity or address that uses most are
 * ended, the latest first, so that one client cannot use up what others need.
 */
export class SharedAllowance {
  readonly #totalBytes: number;
  readonly #shares = new Map<string, Share>();
  #used = 0;

  constructor(totalBytes: number) {
    this.#totalBytes = totalBytes;
  }

  /** Bytes that count towards the total. */
  get usedBytes(): number {
    return this.#used;
  }

  /** Records that a stream uses a number of bytes. Ends streams if the total is exceeded by that. */
  use(sharer: Sharer, key: string, bytes: number): void {
    const charged = Math.max(0, bytes - freeBytes);
    let share = this.#shares.get(key);
    const before = share?.streams.get(sharer) ?? 0;
    if (charged === before) return;
    if (share === undefined) this.#shares.set(key, (share = { bytes: 0, streams: new Map() }));
    if (charged === 0) share.streams.delete(sharer);
    else share.streams.set(sharer, charged);
    share.bytes += charged - before;
    this.#used += charged - before;
    if (share.streams.size === 0) this.#shares.delete(key);
    while (this.#used > this.#totalBytes) this.#endOne();
  }

  #endOne(): void {
    const [key, largest] = [...this.#shares].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a));
    const [latest] = [...largest.streams.keys()].slice(-1);
    if (latest === undefined) return;
    this.use(latest, key, 0);
    latest.exceeded(this.#totalBytes);
  }
}

/** Returns the key by which a client shares: its identity, else its address; of IPv6 the first 64 bits. */
export function shareKey(identity: string | undefined, { address }: Peer): string {
  return identity ?? addressGroup(address);
}

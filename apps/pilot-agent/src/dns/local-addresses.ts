import { networkInterfaces } from "node:os";
import { isLoopback } from "@istiod/peer-address";
import { type Clock, monotonicClock } from "@istiod/runtime";

/** Milliseconds between reads of the interfaces, which a flood from unknown addresses must not cause each time. */
const REFRESH_INTERVAL = 1000;

/** The addresses of this machine, or of the pod. */
export class LocalAddresses {
  readonly #clock: Clock;
  #addresses: ReadonlySet<string> = new Set();
  #nextRead = -Infinity;

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock;
  }

  has(address: string): boolean {
    if (isLoopback(address)) return true;
    const bare = bareAddress(address);
    if (this.#addresses.has(bare)) return true;
    const now = this.#clock.now();
    if (now < this.#nextRead) return false;
    this.#nextRead = now + REFRESH_INTERVAL;
    this.#addresses = interfaceAddresses() ?? this.#addresses;
    return this.#addresses.has(bare);
  }
}

/** Returns the addresses of all interfaces; undefined while the process has no free file descriptor. */
function interfaceAddresses(): ReadonlySet<string> | undefined {
  try {
    const entries = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    return new Set(entries.map(({ address }) => address));
  } catch {
    return undefined;
  }
}

function bareAddress(address: string): string {
  return address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
}

import type { Variant } from "@istiod/xds-server";
import type { Address, Target } from "@istiod/xds-server/testing";
import { SimulatedProxy } from "../client/simulated-proxy.js";
import { addTraffic, noTraffic, type PartReport, type Traffic } from "./traffic.js";

/** A proxy of the fleet, as passed to a thread. */
export interface MemberOptions {
  /** An encoded node. */
  readonly node: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PartOptions<T extends Target = Address> {
  readonly target: T;
  readonly variant: Variant;
  readonly members: readonly MemberOptions[];
  /** Progress of the part, readable by other threads while it is busy. */
  readonly progress: SharedArrayBuffer;
}

/**
 * The progress of a part: the time of its last traffic, in milliseconds since the epoch, and the number of proxies that
 * have all resources that they need.
 */
export interface Progress {
  readonly activeAt: number;
  readonly complete: number;
  readonly dropped: number;
}

const cells = { activeAt: 0, complete: 1, dropped: 2 } as const;
export const progressBytes = 3 * 8;

export function readProgress(buffer: SharedArrayBuffer): Progress {
  const values = new Float64Array(buffer);
  return {
    activeAt: values[cells.activeAt] ?? 0,
    complete: values[cells.complete] ?? 0,
    dropped: values[cells.dropped] ?? 0,
  };
}

interface Member {
  readonly proxy: SimulatedProxy;
  touched: boolean;
  lastAckAt: number | undefined;
  complete: boolean;
}

const now = (): number => performance.timeOrigin + performance.now();

/** The proxies of one thread, and their traffic since the last reset. */
export class FleetPart {
  readonly #members: readonly Member[];
  readonly #progress: Float64Array;
  #types = new Map<string, Traffic>();
  #requests = { messages: 0, bytes: 0 };
  #broken = new Map<string, number>();
  #firstResponseAt: number | undefined;

  constructor({ target, variant, members, progress }: PartOptions<Target>) {
    this.#progress = new Float64Array(progress);
    this.#members = members.map((options) => this.#member(target, variant, options));
  }

  /** Connects all at once. */
  connect(): void {
    this.#progress[cells.dropped] = 0;
    for (const { proxy } of this.#members) proxy.connect();
  }

  /** Closes all streams. Proxies keep their resources. */
  drop(): void {
    for (const { proxy } of this.#members) proxy.drop();
    this.#progress[cells.dropped] = this.#members.length;
  }

  /** Starts a step. */
  reset(connecting: boolean): void {
    this.#types = new Map();
    this.#requests = { messages: 0, bytes: 0 };
    this.#broken = new Map();
    this.#firstResponseAt = undefined;
    for (const member of this.#members) {
      member.touched = false;
      member.lastAckAt = undefined;
      if (connecting) member.complete = false;
    }
    if (connecting) this.#progress[cells.complete] = 0;
    this.#progress[cells.activeAt] = now();
  }

  report(): PartReport {
    return {
      touched: this.#members.filter(({ touched }) => touched).length,
      firstResponseAt: this.#firstResponseAt,
      lastAcksAt: this.#members.flatMap(({ lastAckAt }) => lastAckAt ?? []),
      types: Object.fromEntries(this.#types),
      requests: { ...this.#requests },
      broken: Object.fromEntries(this.#broken),
      incomplete: this.#members.filter(({ complete }) => !complete).length,
    };
  }

  #member(target: Target, variant: Variant, options: MemberOptions): Member {
    const proxy = new SimulatedProxy({
      target,
      variant,
      ...options,
      events: {
        response: ({ typeUrl, resources, removed, bytes }) => {
          const at = (this.#progress[cells.activeAt] = now());
          this.#firstResponseAt ??= at;
          member.touched = true;
          let traffic = this.#types.get(typeUrl);
          if (traffic === undefined) this.#types.set(typeUrl, (traffic = noTraffic()));
          addTraffic(traffic, { messages: 1, resources, removed, bytes: bytes + 5 });
          return undefined;
        },
        sent: (bytes, answer) => {
          const at = (this.#progress[cells.activeAt] = now());
          this.#requests.messages++;
          this.#requests.bytes += bytes;
          if (answer) member.lastAckAt = at;
        },
        complete: () => {
          if (!member.complete) this.#progress[cells.complete] = (this.#progress[cells.complete] ?? 0) + 1;
          member.complete = true;
        },
        broken: (reason) => {
          this.#broken.set(reason, (this.#broken.get(reason) ?? 0) + 1);
          this.#progress[cells.activeAt] = now();
        },
      },
    });
    const member: Member = { proxy, touched: false, lastAckAt: undefined, complete: false };
    return member;
  }
}

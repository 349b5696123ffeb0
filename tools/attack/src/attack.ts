import type { AttackedIstiod } from "./target/istiod-target.js";

/** An attack on a running server, by default an istiod, by a caller that can reach its ports. */
export interface Attack<T = AttackedIstiod> {
  /** Kebab-case, unique. */
  readonly name: string;
  /** One line: the caller, and what it sends. */
  readonly description: string;
  /**
   * Sends a bounded number of bytes and connections for a bounded time, and closes everything that it has opened.
   * Returns what was sent and how the server answered, in a line.
   *
   * @param scale share of the full size, above 0 and at most 1
   */
  run(target: T, scale: number): Promise<string>;
}

/** Limits of the effect of an attack. */
export interface Bounds {
  /** Bytes that its resident set may grow by. */
  readonly rssGrowth: number;
  /** Longest time to an answer of `/ready`, in milliseconds. */
  readonly readyMs: number;
  /** Longest time until a proxy that connects during the attack is served, in milliseconds. */
  readonly joinMs: number;
}

/** The effect of an attack. */
export interface Effect {
  readonly attack: string;
  /** The line that the attack returned. */
  readonly sent: string;
  readonly alive: boolean;
  /** Bytes, by the peak during the attack. */
  readonly rssGrowth: number;
  /** Milliseconds. */
  readonly ready: { readonly max: number; readonly p99: number; readonly failures: number };
  /**
   * Longest time, in milliseconds, that the server ran in a turn of its event loop of at least 50 ms; undefined if it
   * had none, or if they are not recorded.
   */
  readonly longestTurnMs: number | undefined;
  /** Streams of honest proxies that were closed. */
  readonly streamsLost: number;
  /** Milliseconds until a client that connected during the attack was served; undefined if it was not. */
  readonly joinedMs: number | undefined;
  /** An edit after the attack reached every honest client. */
  readonly updated: boolean;
  /** Sockets that the server kept open after the attack, although the attack had closed its own. */
  readonly socketsLeft: number;
}

/** Returns the bounds that an effect exceeds, in words. */
export function violations(effect: Effect, bounds: Bounds): string[] {
  const { alive, rssGrowth, ready, streamsLost, joinedMs, updated, socketsLeft } = effect;
  return [
    ...(alive ? [] : ["it exited"]),
    ...(rssGrowth > bounds.rssGrowth ? [`memory grew by ${mebibytes(rssGrowth)}`] : []),
    ...(ready.max > bounds.readyMs ? [`/ready took ${ready.max.toFixed(0)} ms`] : []),
    ...(ready.failures > 0 ? [`/ready failed ${ready.failures} times`] : []),
    ...(streamsLost > 0 ? [`${streamsLost} honest streams were closed`] : []),
    ...(joinedMs === undefined ? ["a new client was not served"] : []),
    ...(joinedMs !== undefined && joinedMs > bounds.joinMs ? [`a new client waited ${joinedMs.toFixed(0)} ms`] : []),
    ...(updated ? [] : ["an update did not reach all honest clients"]),
    ...(socketsLeft > 0 ? [`${socketsLeft} sockets were left open`] : []),
  ];
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

import type { ListenOptions } from "../api.js";
import type { AcceptOptions } from "./accepted-connection.js";

const defaults = {
  maxRequestBytes: 4 * 1024 * 1024,
  maxStreams: 100_000,
  maxUnauthenticatedStreams: 100,
  handshakeTimeoutMs: 10_000,
  firstRequestTimeoutMs: 15_000,
  idleTimeoutMs: 300_000,
} as const satisfies Partial<ListenOptions>;

/** The limits of a listener. */
export interface ListenLimits extends AcceptOptions {
  readonly maxRequestBytes: number;
  readonly maxUnauthenticatedStreams: number;
}

/** Returns the limits of a listener with their defaults. */
export function listenLimits(options: ListenOptions): ListenLimits {
  return {
    maxRequestBytes: options.maxRequestBytes ?? defaults.maxRequestBytes,
    maxStreams: options.maxStreams ?? defaults.maxStreams,
    maxUnauthenticatedStreams: options.maxUnauthenticatedStreams ?? defaults.maxUnauthenticatedStreams,
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? defaults.handshakeTimeoutMs,
    firstRequestTimeoutMs: options.firstRequestTimeoutMs ?? defaults.firstRequestTimeoutMs,
    idleTimeoutMs: options.idleTimeoutMs ?? defaults.idleTimeoutMs,
  };
}

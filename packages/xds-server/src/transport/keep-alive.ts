import { constants, type ServerHttp2Session } from "node:http2";
import type { Clock } from "../clock.js";

export interface KeepAliveOptions {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** Pings the client at intervals and drops the connection if there is no answer in time. */
export function keepAlive(session: ServerHttp2Session, { intervalMs, timeoutMs }: KeepAliveOptions, clock: Clock): void {
  let cancel = clock.after(intervalMs, ping);
  function ping(): void {
    if (session.destroyed) return;
    cancel = clock.after(timeoutMs, () => session.destroy());
    session.ping((error) => {
      cancel();
      if (error === null) cancel = clock.after(intervalMs, ping);
    });
  }
  session.once("close", () => cancel());
}

/**
 * Tells the client after a time, give or take a tenth so that connections made together do not end together, that the connection will
 * end, and ends it after the grace.
 */
export function limitAge(session: ServerHttp2Session, { ms, graceMs }: { ms: number; graceMs: number }, clock: Clock): void {
  let cancel = clock.after(ms * (0.9 + Math.random() * 0.2), () => {
    session.goaway(constants.NGHTTP2_NO_ERROR);
    cancel = clock.after(graceMs, () => session.destroy());
  });
  session.once("close", () => cancel());
}

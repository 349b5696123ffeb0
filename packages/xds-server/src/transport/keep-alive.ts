import { constants, type ServerHttp2Session } from "node:http2";
import type { Clock } from "../clock.js";

export interface KeepAliveOptions {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/**
 * Pings the client at intervals and drops the connection if nothing comes in time: neither an answer nor anything else. Whoever is in the
 * middle of reading megabytes finds the ping behind them, and tells by window updates that it is there. (As in gRPC, where any read counts.)
 */
export function keepAlive(
  session: ServerHttp2Session,
  { intervalMs, timeoutMs }: KeepAliveOptions,
  clock: Clock,
): void {
  const { socket } = session;
  let cancel = clock.after(intervalMs, ping);
  function ping(): void {
    if (session.destroyed) return;
    expectSomething(socket.bytesRead);
    session.ping((error) => {
      cancel();
      if (error === null) cancel = clock.after(intervalMs, ping);
    });
  }
  function expectSomething(bytesRead: number): void {
    cancel = clock.after(timeoutMs, () => {
      if (session.destroyed) return;
      if (socket.bytesRead > bytesRead) expectSomething(socket.bytesRead);
      else session.destroy();
    });
  }
  session.once("close", () => cancel());
}

const lingerMs = 1000;

/**
 * Tells the client after a time, give or take a tenth so that connections made together do not end together, that the connection will
 * end. After the grace it has its calls ended, and ends when they are over, or a second later. (As gRPC does, but that it says so to the calls.)
 *
 * @param end ends the calls
 */
export function limitAge(
  session: ServerHttp2Session,
  { ms, graceMs }: { ms: number; graceMs: number },
  clock: Clock,
  end: () => void,
): void {
  let cancel = clock.after(ms * (0.9 + Math.random() * 0.2), () => {
    session.goaway(constants.NGHTTP2_NO_ERROR);
    cancel = clock.after(graceMs, () => {
      end();
      session.close();
      cancel = clock.after(lingerMs, () => session.destroy());
    });
  });
  session.once("close", () => cancel());
}

import { constants, type ServerHttp2Session } from "node:http2";
import type { Clock } from "@istiod/settings";

export interface KeepAliveOptions {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/**
 * Pings the client at intervals and drops the connection if nothing is received within the timeout. As in gRPC, any
 * read counts: a client that is still reading a large response reaches the ping late, but sends window updates.
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
    expectRead(socket.bytesRead);
    session.ping((error) => {
      cancel();
      if (error === null) cancel = clock.after(intervalMs, ping);
    });
  }
  function expectRead(bytesRead: number): void {
    cancel = clock.after(timeoutMs, () => {
      if (session.destroyed) return;
      if (socket.bytesRead > bytesRead) expectRead(socket.bytesRead);
      else session.destroy();
    });
  }
  session.once("close", () => cancel());
}

const lingerMs = 1000;

/**
 * Limits the age of a connection, as gRPC's `MaxConnectionAge` does: sends GOAWAY after the age with a jitter of ±10 %.
 * After the grace period it ends the calls and closes the session, and destroys it after another second.
 *
 * @param end ends the calls of the session
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

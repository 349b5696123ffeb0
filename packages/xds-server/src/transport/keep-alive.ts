import { constants, type ServerHttp2Session } from "node:http2";
import type { Clock } from "@istiod/runtime";

export interface KeepAliveOptions {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/**
 * Pings the client at intervals and drops the connection if nothing is received within the timeout. As in gRPC, any
 * read counts: a client that is still reading a large response reaches the ping late, but sends window updates.
 *
 * @param destroy destroys the session and its socket. Also called if the session was destroyed without the socket
 */
export function keepAlive(
  session: ServerHttp2Session,
  { intervalMs, timeoutMs }: KeepAliveOptions,
  clock: Clock,
  destroy: () => void,
): void {
  const { socket } = session;
  let isClosed = false;
  let cancel = clock.after(intervalMs, ping);
  function ping(): void {
    if (session.destroyed) return destroy();
    expectRead(socket.bytesRead);
    session.ping((error) => {
      // Node sends no ping after GOAWAY. If calls do not end, the connection must not stay open because of that.
      if (error !== null) return;
      cancel();
      if (!isClosed) cancel = clock.after(intervalMs, ping);
    });
  }
  function expectRead(bytesRead: number): void {
    cancel = clock.after(timeoutMs, () => {
      if (session.destroyed || socket.bytesRead <= bytesRead) destroy();
      else expectRead(socket.bytesRead);
    });
  }
  session.once("close", () => {
    isClosed = true;
    cancel();
  });
}

const lingerMs = 1000;

/**
 * Limits the age of a connection, as gRPC's `MaxConnectionAge` does: sends GOAWAY after the age with a jitter of ±10 %.
 * After the grace period it ends the calls and closes the session, and destroys the connection after another second.
 */
export function limitAge(
  session: ServerHttp2Session,
  { ms, graceMs }: { ms: number; graceMs: number },
  clock: Clock,
  { endCalls, destroy }: { endCalls(): void; destroy(): void },
): void {
  let cancel = clock.after(ms * (0.9 + Math.random() * 0.2), () => {
    if (!session.destroyed) session.goaway(constants.NGHTTP2_NO_ERROR);
    cancel = clock.after(graceMs, () => {
      endCalls();
      session.close();
      cancel = clock.after(lingerMs, destroy);
    });
  });
  session.once("close", () => cancel());
}

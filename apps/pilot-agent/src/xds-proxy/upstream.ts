import { type ClientHttp2Session, connect } from "node:http2";
import type { Socket } from "node:net";
import { type ControlPlaneTls, tlsOptions } from "../certificates/control-plane-tls.js";
import type { TokenSource } from "../credentials/token-source.js";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";

export interface UpstreamOptions {
  /** `host:port` of istiod. */
  readonly address: string;
  /** Default: plaintext. */
  readonly tls?: ControlPlaneTls;
  readonly token: TokenSource;
  readonly clusterId: string;
  /** Additional request headers (XDS_HEADER_…). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout of a connection attempt in milliseconds. Default: 5000. */
  readonly dialTimeout?: number;
  /** Interval and timeout of pings in milliseconds. Defaults: 30000 and 10000 (Istio's GRPC_KEEPALIVE_…). */
  readonly keepaliveInterval?: number;
  readonly keepaliveTimeout?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * Flow-control windows in bytes. The first push may be tens of megabytes, which would take many round trips otherwise.
 */
const STREAM_WINDOW = 4 * 1024 * 1024;
const CONNECTION_WINDOW = 16 * 1024 * 1024;

/**
 * Opens a connection to istiod with the current content of the token and certificate files. The connection is closed
 * when a ping times out.
 *
 * @param signal stops opening it
 * @throws AgentError `discovery` or `file`
 */
export async function openUpstream(
  options: UpstreamOptions,
  signal?: AbortSignal,
): Promise<{ session: ClientHttp2Session; headers: Record<string, string> }> {
  const { address, tls, clusterId, dialTimeout = 5000, clock = systemClock } = options;
  const token = await options.token.read();
  const secure = tls ? await tlsOptions(tls, address, options) : {};
  signal?.throwIfAborted();
  const session = connect(`${tls ? "https" : "http"}://${address}`, {
    ...secure,
    settings: { initialWindowSize: STREAM_WINDOW, enablePush: false },
    maxSessionMemory: 1024,
  });
  let socket: Socket | undefined;
  /** While a write is blocked, Node keeps the socket of a session that was destroyed. */
  const destroy = (error?: Error): void => {
    session.destroy(error);
    socket?.destroy();
  };
  await new Promise<void>((resolve, reject) => {
    const cancel = clock.after(dialTimeout, () => fail(new Error(`no connection within ${dialTimeout / 1000} s`)));
    const abort = (): void => fail(new Error("no longer needed"));
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", abort);
    };
    const fail = (error: Error): void => {
      done();
      session.destroy();
      reject(
        new AgentError("discovery", `failed to connect to upstream ${address}: ${reasonOf(error)}`, { cause: error }),
      );
    };
    signal?.addEventListener("abort", abort, { once: true });
    session.once("error", fail);
    session.once("connect", (_, connected) => {
      socket = connected;
      done();
      session.off("error", fail);
      resolve();
    });
  });
  session.on("error", () => destroy());
  session.setLocalWindowSize(CONNECTION_WINDOW);
  keepAlive(session, options, destroy);
  return {
    session,
    headers: {
      clusterid: clusterId,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...options.headers,
    },
  };
}

/** Pings istiod. @param destroy also called if the session was destroyed without its socket */
function keepAlive(
  session: ClientHttp2Session,
  { keepaliveInterval = 30_000, keepaliveTimeout = 10_000, clock = systemClock }: UpstreamOptions,
  destroy: (error?: Error) => void,
): void {
  let isClosed = false;
  let cancel: () => void;
  const next = (): void => {
    cancel = clock.after(keepaliveInterval, () => {
      if (session.destroyed) return destroy();
      cancel = clock.after(keepaliveTimeout, () => destroy(new Error("ping timeout")));
      session.ping(() => {
        cancel();
        if (!isClosed) next();
      });
    });
  };
  next();
  session.once("close", () => {
    isClosed = true;
    cancel();
  });
}

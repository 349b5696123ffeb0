import { type ClientHttp2Session, connect } from "node:http2";
import { type ControlPlaneTls, tlsOptions } from "../certificates/control-plane-tls.js";
import { readToken } from "../certificates/token.js";
import { type Clock, systemClock } from "../clock.js";
import { AgentError, reasonOf } from "../errors.js";

export interface UpstreamOptions {
  /** `host:port` of istiod. */
  readonly address: string;
  /** Absent: no TLS. */
  readonly tls?: ControlPlaneTls;
  readonly tokenFile: string;
  readonly clusterId: string;
  /** More request headers (XDS_HEADER_…). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds to wait for a connection. Default: 5000. */
  readonly dialTimeout?: number;
  /**
   * Milliseconds between pings, and to wait for their answers. Defaults: 30000 and 10000 (Istio's GRPC_KEEPALIVE_…).
   */
  readonly keepaliveInterval?: number;
  readonly keepaliveTimeout?: number;
  readonly clock?: Clock;
}

/** A first push may be tens of megabytes; small windows would make it a thousand round trips. */
const STREAM_WINDOW = 4 * 1024 * 1024;
const CONNECTION_WINDOW = 16 * 1024 * 1024;

/**
 * Opens a connection of its own to istiod, with the files' present content. It is closed when it stops answering pings.
 * @throws AgentError `discovery` or `file`
 */
export async function openUpstream(
  options: UpstreamOptions,
): Promise<{ session: ClientHttp2Session; headers: Record<string, string> }> {
  const { address, tls, tokenFile, clusterId, dialTimeout = 5000, clock = systemClock } = options;
  const token = await readToken(tokenFile);
  const session = connect(`${tls ? "https" : "http"}://${address}`, {
    ...(tls ? await tlsOptions(tls, address) : {}),
    settings: { initialWindowSize: STREAM_WINDOW, enablePush: false },
    maxSessionMemory: 1024,
  });
  await new Promise<void>((resolve, reject) => {
    const cancel = clock.after(dialTimeout, () => fail(new Error(`no connection within ${dialTimeout / 1000} s`)));
    const fail = (error: Error): void => {
      cancel();
      session.destroy();
      reject(new AgentError("discovery", `istiod ${address} cannot be reached: ${reasonOf(error)}`, { cause: error }));
    };
    session.once("error", fail);
    session.once("connect", () => {
      cancel();
      session.off("error", fail);
      resolve();
    });
  });
  session.on("error", () => session.destroy());
  session.setLocalWindowSize(CONNECTION_WINDOW);
  keepAlive(session, options);
  return {
    session,
    headers: {
      clusterid: clusterId,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...options.headers,
    },
  };
}

function keepAlive(
  session: ClientHttp2Session,
  { keepaliveInterval = 30_000, keepaliveTimeout = 10_000, clock = systemClock }: UpstreamOptions,
): void {
  let cancel: () => void;
  const next = (): void => {
    cancel = clock.after(keepaliveInterval, () => {
      if (session.destroyed) return;
      cancel = clock.after(keepaliveTimeout, () => session.destroy(new Error("istiod does not answer pings")));
      session.ping((error) => {
        cancel();
        if (!error) next();
      });
    });
  };
  next();
  session.once("close", () => cancel());
}

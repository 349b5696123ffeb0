import { createSocket } from "node:dgram";
import { connect } from "node:net";

/** An upstream name server. */
export interface UpstreamServer {
  readonly address: string;
  readonly port: number;
}

/** Sends a query over UDP and returns the response message. @param timeout milliseconds */
export function queryUdp(
  server: UpstreamServer,
  query: Buffer,
  timeout: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(server.address.includes(":") ? "udp6" : "udp4");
    const done = (outcome: Error | Buffer): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      socket.close();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const abort = (): void => done(new Error("aborted"));
    const timer = setTimeout(
      () => done(new Error(`no response from name server ${server.address} within ${timeout / 1000}s`)),
      timeout,
    );
    signal?.addEventListener("abort", abort, { once: true });
    socket.on("error", done);
    // A connected socket receives datagrams of that server only. The ID must match too.
    socket.on("message", (message) => {
      if (message.length >= 12 && message.readUInt16BE(0) === query.readUInt16BE(0)) done(message);
    });
    socket.connect(server.port, server.address, () => socket.send(query));
  });
}

/** Sends a query over TCP and returns the response message. @param timeout milliseconds */
export function queryTcp(
  server: UpstreamServer,
  query: Buffer,
  timeout: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port, timeout });
    let received = Buffer.alloc(0);
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    signal?.addEventListener("abort", () => fail(new Error("aborted")), { once: true });
    socket.on("connect", () => socket.write(withLengthPrefix(query)));
    socket.on("timeout", () =>
      fail(new Error(`no response from name server ${server.address} within ${timeout / 1000}s`)),
    );
    socket.on("error", fail);
    socket.on("close", () => reject(new Error(`name server ${server.address} closed the connection`)));
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = received.subarray(2, 2 + received.readUInt16BE(0));
      socket.destroy();
      if (message.length >= 12 && message.readUInt16BE(0) === query.readUInt16BE(0)) resolve(message);
      else reject(new Error(`name server ${server.address} responded to another query`));
    });
  });
}

/** Prepends the length, as TCP requires (RFC 1035 §4.2.2). */
export function withLengthPrefix(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** Options of forwarding. */
export interface Forwarding {
  readonly servers: readonly UpstreamServer[];
  /** Timeout of each server in milliseconds. */
  readonly timeout: number;
  /** Queries all servers at once and uses the first response. */
  readonly parallel: boolean;
}

/** Queries the name servers in random order until one responds; `undefined` if none does. */
export async function forward(
  query: Buffer,
  protocol: "udp" | "tcp",
  { servers, timeout, parallel }: Forwarding,
): Promise<Buffer | undefined> {
  const send = protocol === "udp" ? queryUdp : queryTcp;
  if (parallel) {
    const abort = new AbortController();
    const first = await Promise.any(servers.map((server) => send(server, query, timeout, abort.signal))).catch(
      () => undefined,
    );
    abort.abort();
    return first;
  }
  for (const server of shuffled(servers)) {
    const answer = await send(server, query, timeout).catch(() => undefined);
    if (answer) return answer;
  }
  return undefined;
}

/** Returns the items in random order (Fisher–Yates). */
export function shuffled<T>(items: readonly T[]): T[] {
  const order = [...items];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [order[at], order[other]] = [order[other] as T, order[at] as T];
  }
  return order;
}

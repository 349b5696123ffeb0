import { createSocket } from "node:dgram";
import { connect } from "node:net";

export interface UpstreamServer {
  readonly address: string;
  readonly port: number;
}

/** Asks a name server over UDP and gives its answer as it came. @param timeout milliseconds */
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
    const abort = (): void => done(new Error("not needed any more"));
    const timer = setTimeout(
      () => done(new Error(`name server ${server.address} gives no answer within ${timeout / 1000} s`)),
      timeout,
    );
    signal?.addEventListener("abort", abort, { once: true });
    socket.on("error", done);
    // A connected socket takes datagrams of that server only; the identifier must fit too.
    socket.on("message", (message) => {
      if (message.length >= 12 && message.readUInt16BE(0) === query.readUInt16BE(0)) done(message);
    });
    socket.connect(server.port, server.address, () => socket.send(query));
  });
}

/** The same over TCP. */
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
    signal?.addEventListener("abort", () => fail(new Error("not needed any more")), { once: true });
    socket.on("connect", () => socket.write(withLengthPrefix(query)));
    socket.on("timeout", () =>
      fail(new Error(`name server ${server.address} gives no answer within ${timeout / 1000} s`)),
    );
    socket.on("error", fail);
    socket.on("close", () => reject(new Error(`name server ${server.address} closed the connection`)));
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = received.subarray(2, 2 + received.readUInt16BE(0));
      socket.destroy();
      if (message.length >= 12 && message.readUInt16BE(0) === query.readUInt16BE(0)) resolve(message);
      else reject(new Error(`name server ${server.address} answers another query`));
    });
  });
}

/** A message as it goes over TCP (RFC 1035 §4.2.2). */
export function withLengthPrefix(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

export interface Forwarding {
  readonly servers: readonly UpstreamServer[];
  /** Milliseconds for each server. */
  readonly timeout: number;
  /** Ask all at once and take the first answer. */
  readonly parallel: boolean;
}

/** Asks the name servers, in an order of chance that spreads load, until one answers; `undefined` where none does. */
export async function forward(
  query: Buffer,
  protocol: "udp" | "tcp",
  { servers, timeout, parallel }: Forwarding,
): Promise<Buffer | undefined> {
  const ask = protocol === "udp" ? queryUdp : queryTcp;
  if (parallel) {
    const enough = new AbortController();
    const first = await Promise.any(servers.map((server) => ask(server, query, timeout, enough.signal))).catch(
      () => undefined,
    );
    enough.abort();
    return first;
  }
  for (const server of shuffled(servers)) {
    const answer = await ask(server, query, timeout).catch(() => undefined);
    if (answer) return answer;
  }
  return undefined;
}

/** The items in an order of chance (Fisher and Yates). */
export function shuffled<T>(items: readonly T[]): T[] {
  const order = [...items];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [order[at], order[other]] = [order[other] as T, order[at] as T];
  }
  return order;
}

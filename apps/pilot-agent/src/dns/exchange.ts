import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { ByteQueue } from "@istiod/protobuf-wire";

/** An upstream name server. */
export interface UpstreamServer {
  readonly address: string;
  readonly port: number;
}

/** A query to a name server. */
export interface Exchange {
  readonly server: UpstreamServer;
  readonly message: Buffer;
  /** Timeout in milliseconds, of the connection and the response together. */
  readonly timeout: number;
  /** Reports whether a message responds to the query. Others are ignored over UDP, where anybody may send them. */
  readonly isResponse: (message: Buffer) => boolean;
  readonly signal?: AbortSignal;
}

/**
 * Sends a query over UDP and returns the response message. Each query has a socket of its own with a random port, which
 * is connected, so that it receives datagrams of that server only (RFC 5452 §9.2).
 */
export function exchangeUdp({ server, message, timeout, isResponse, signal }: Exchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(server.address.includes(":") ? "udp6" : "udp4");
    let isDone = false;
    const done = (outcome: Error | Buffer): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      socket.close();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const abort = (): void => done(new Error("aborted"));
    const timer = setTimeout(() => done(noResponse(server, timeout)), timeout);
    signal?.addEventListener("abort", abort, { once: true });
    socket.on("error", done);
    socket.on("message", (response) => {
      if (isResponse(response)) done(response);
    });
    // The callback also receives a failure to connect, after which sending throws.
    socket.connect(server.port, server.address, ((error?: Error) => {
      if (error) done(error);
      else if (!isDone) socket.send(message, (failure) => failure && done(failure));
    }) as () => void);
  });
}

/** Sends a query over TCP and returns the response message. */
export function exchangeTcp({ server, message, timeout, isResponse, signal }: Exchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port });
    const received = new ByteQueue();
    const done = (outcome: Error | Buffer): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      socket.destroy();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const abort = (): void => done(new Error("aborted"));
    const timer = setTimeout(() => done(noResponse(server, timeout)), timeout);
    signal?.addEventListener("abort", abort, { once: true });
    socket.on("connect", () => socket.write(withLengthPrefix(message)));
    socket.on("error", done);
    socket.on("close", () => done(new Error(`name server ${server.address} closed the connection`)));
    socket.on("data", (bytes: Buffer) => {
      received.push(bytes);
      const response = takeMessage(received);
      if (!response) return;
      done(isResponse(response) ? response : new Error(`name server ${server.address} responded to another query`));
    });
  });
}

/** Removes a message with its length prefix from received bytes; `undefined` while it is incomplete. */
export function takeMessage(received: ByteQueue): Buffer | undefined {
  const prefix = received.peek(2);
  return prefix && received.take(2 + prefix.readUInt16BE(0))?.subarray(2);
}

/** Prepends the length, as TCP requires (RFC 1035 §4.2.2). */
export function withLengthPrefix(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

function noResponse({ address }: UpstreamServer, timeout: number): Error {
  return new Error(`no response from name server ${address} within ${timeout / 1000}s`);
}

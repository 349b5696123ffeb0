import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Address, type Channel, openChannel } from "@istiod/xds-server/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSockets, type PeerProcess, startServer } from "./peer-process.js";
import { hasOpenssl, NO_OPENSSL, selfSigned } from "./self-signed.js";

async function listen(server: Server): Promise<{ readonly host: string; readonly port: number }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

const keepAliveMs = 200;

/** Opens a stream. Resolves to the reason for its end. */
const endOf = (address: Parameters<typeof openChannel>[0]): Promise<string | undefined> =>
  new Promise((resolve) => {
    const channel = openChannel(address, "delta", {
      message: () => undefined,
      ended: (error) => resolve(error?.rawMessage),
    });
    onTestFinished(() => channel.cancel());
  });

test("with keep-alive, a stream ends if no connection is established", async () => {
  const address = await listen(createServer(() => undefined));
  expect(await endOf({ ...address, keepAliveMs })).toBe("a ping timed out");
}, 60_000);

test("with keep-alive, a stream ends when its connection falls silent, and not before", async () => {
  let pings = 0;
  const server = createHttp2Server()
    .on("session", (session) => session.on("ping", () => pings++).on("error", () => undefined))
    .on("stream", (stream) => stream.on("error", () => undefined).respond({ ":status": 200 }));
  const behind = await listen(server as unknown as Server);
  // A machine that hangs after three pings: connections stay open, and nothing is sent.
  const relay = createServer((socket) => {
    const onward = connect(behind.port, behind.host).on("error", () => undefined);
    onTestFinished(() => void onward.destroy());
    socket.on("error", () => undefined).on("data", (data) => pings < 3 && onward.write(data));
    onward.on("data", (data) => pings < 3 && socket.write(data));
  });
  expect(await endOf({ ...(await listen(relay)), keepAliveMs })).toBe("a ping timed out");
  expect(pings).toBe(3);
}, 60_000);

test("a stream ends when the server destroys its connection", async () => {
  const server = createHttp2Server().on("stream", (stream) => stream.session?.destroy());
  expect(await endOf(await listen(server as unknown as Server))).toMatch(/connection|reset/);
}, 60_000);

const connections = 4;
/** More than the buffers of a connection hold. */
const blockedBytes = 8 * 1024 * 1024;

describe.each(["plaintext", "TLS"])("over %s, to a peer that does not read", (transport) => {
  const tls = transport === "TLS" && hasOpenssl ? selfSigned() : undefined;
  const skip = transport === "TLS" && !hasOpenssl;

  /** Opens streams to a server that is stopped, and writes until the writes are blocked. */
  async function blockedStreams(): Promise<{ peer: PeerProcess; ended: readonly number[] }> {
    const peer = await startServer(tls);
    const address: Address = {
      host: "127.0.0.1",
      port: peer.port,
      keepAliveMs: 10 * keepAliveMs,
      ...(tls && { tls: { rejectUnauthorized: false } }),
    };
    const ended: number[] = [];
    const channels: Channel[] = [];
    for (let each = 0; each < connections; each++) {
      const events = { message: () => undefined, ended: () => void ended.push(each) };
      channels.push(openChannel(address, "delta", events));
      onTestFinished(() => channels[each]?.cancel());
      await peer.line();
    }
    peer.stop();
    const message = Buffer.alloc(64 * 1024);
    // In turns of the event loop: Node 20 reports the end of a connection that is written to in one turn.
    for (let sent = 0; sent < blockedBytes; sent += message.length) {
      for (const channel of channels) channel.send(message);
      await new Promise(setImmediate);
    }
    return { peer, ended };
  }

  test("closes the sockets when pings time out", async (context) => {
    context.skip(skip, NO_OPENSSL);
    const { ended } = await blockedStreams();
    await expect.poll(() => ended.length, { timeout: 20_000 }).toBe(connections);
    await expect.poll(openSockets, { timeout: 20_000 }).toBe(0);
  }, 60_000);

  test("ends the streams and closes the sockets when the peer is killed", async (context) => {
    context.skip(skip, NO_OPENSSL);
    const { peer, ended } = await blockedStreams();
    await peer.kill();
    await expect.poll(() => ended.length, { timeout: 20_000 }).toBe(connections);
    await expect.poll(openSockets, { timeout: 20_000 }).toBe(0);
  }, 60_000);
});

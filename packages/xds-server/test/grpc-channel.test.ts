import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { openChannel } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test } from "vitest";

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

import { EventEmitter, once } from "node:events";
import type { Http2SecureServer } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { FakeClock } from "@istiod/settings/testing";
import { afterEach, expect, it } from "vitest";
import { paceHandshakes } from "../src/transport/paced-handshakes.js";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server whose handshakes are recorded, with the turn of the event loop in which each begins. */
async function paced() {
  const clock = new FakeClock(0);
  const begun: { readonly from: string | undefined; readonly turn: number; readonly first: string }[] = [];
  let turn = 0;
  const server = createServer((socket) => {
    begun.push({ from: socket.remoteAddress, turn, first: String(socket.read()) });
  });
  paceHandshakes(server as unknown as Http2SecureServer, clock);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const count = (): void => {
    turn++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress: string, text?: string): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    closers.push(() => socket.destroy());
    socket.on("error", () => undefined);
    await once(socket, "connect");
    if (text !== undefined) socket.write(text);
    return socket;
  };
  closers.push(() => {
    clearImmediate(timer);
    server.close();
  });
  return { begun, clock, open };
}

it("begins at most eight handshakes in a turn of the event loop, and loses none", async () => {
  const { begun, open } = await paced();
  const sockets = await Promise.all(Array.from({ length: 200 }, () => open("127.0.0.1")));
  for (const socket of sockets) socket.write("hello");
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(200);
  const ofTurn = new Map<number, number>();
  for (const { turn } of begun) ofTurn.set(turn, (ofTurn.get(turn) ?? 0) + 1);
  expect(Math.max(...ofTurn.values())).toBeLessThanOrEqual(8);
  expect(new Set(begun.map(({ first }) => first))).toEqual(new Set(["hello"]));
});

it("does not begin a handshake before the client sends, and closes clients that never do", async () => {
  const { begun, clock, open } = await paced();
  const silent = await open("127.0.0.1");
  await open("127.0.0.1", "hello");
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(1);
  const closed = once(silent, "close");
  clock.advance(10_000);
  await closed;
  expect(begun).toHaveLength(1);
});

it.each([
  ["addresses", "10.0.0.1", "10.0.0.2"],
  ["IPv6 networks", "2001:db8:1:1::7", "2001:db8:1:2::7"],
])("serves %s in turn", async (_, flood, honest) => {
  const server = new EventEmitter();
  const begun: string[] = [];
  server.on("connection", ({ remoteAddress }: Socket) => begun.push(remoteAddress ?? ""));
  paceHandshakes(server as unknown as Http2SecureServer, new FakeClock(0));
  for (const remoteAddress of [...Array<string>(100).fill(flood), honest]) {
    const socket = Object.assign(new PassThrough(), { remoteAddress });
    server.emit("connection", socket);
    socket.write("hello");
  }
  await expect.poll(() => begun.length, { timeout: 5000 }).toBe(101);
  expect(begun.indexOf(honest)).toBe(1);
});

import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Server as PlaintextServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { setImmediate as setImmediatePromise } from "node:timers/promises";
import type { Server } from "node:tls";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, expect, it } from "vitest";
import { LoopTimers } from "../src/loop-timers.js";
import { paceConnections, paceHandshakes } from "../src/paced-handshakes.js";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/**
 * A server whose handshakes are recorded, with the turn of the event loop in which each begins. Handshakes end at once
 * unless they are held.
 */
async function paced({ held = false, timeoutMs }: { held?: boolean; timeoutMs?: number } = {}) {
  const clock = new FakeClock(0);
  const begun: { readonly socket: Socket; readonly turn: number; readonly first: string }[] = [];
  const closed: Socket[] = [];
  let turn = 0;
  const server = createServer((socket) => {
    begun.push({ socket, turn, first: String(socket.read()) });
    if (!held) server.emit("secureConnection", socket);
  });
  const close = (socket: Socket): void => {
    closed.push(socket);
    socket.destroy();
  };
  const timers = new LoopTimers(clock);
  paceHandshakes(server as unknown as Server, { timers, close, ...(timeoutMs !== undefined && { timeoutMs }) });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const count = (): void => {
    turn++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const { port } = server.address() as AddressInfo;
  const open = async (text?: string): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1" });
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
  const complete = (socket: Socket | undefined): void => void server.emit("secureConnection", socket);
  return { begun, closed, clock, open, complete };
}

const opened = (count: number, open: (text: string) => Promise<Socket>): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, () => open("hello")));

it("begins at most eight handshakes in a turn of the event loop, and loses none", async () => {
  const { begun, open } = await paced();
  const sockets = await Promise.all(Array.from({ length: 200 }, () => open()));
  for (const socket of sockets) socket.write("hello");
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(200);
  const ofTurn = new Map<number, number>();
  for (const { turn } of begun) ofTurn.set(turn, (ofTurn.get(turn) ?? 0) + 1);
  expect(Math.max(...ofTurn.values())).toBeLessThanOrEqual(8);
  expect(new Set(begun.map(({ first }) => first))).toEqual(new Set(["hello"]));
});

it("does not begin a handshake before the client sends", async () => {
  const { begun, open } = await paced();
  await open();
  await open("hello");
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(1);
});

it("has at most 32 handshakes of an address in progress, until they end or their clients disconnect", async () => {
  const { begun, open, complete } = await paced({ held: true });
  const sockets = await opened(40, open);
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(32);
  for (let turns = 0; turns < 20; turns++) await setImmediatePromise();
  expect(begun).toHaveLength(32);
  complete(begun[0]?.socket);
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(33);
  const { remotePort } = begun[1]?.socket ?? {};
  sockets.find(({ localPort }) => localPort === remotePort)?.destroy();
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(34);
});

it("closes handshakes that take long only while others wait for their place", async () => {
  const { begun, closed, clock, open } = await paced({ held: true });
  await opened(32, open);
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(32);
  clock.advance(3000);
  for (let turns = 0; turns < 20; turns++) await setImmediatePromise();
  expect(closed).toEqual([]);
  await opened(2, open);
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(34);
  expect(closed).toEqual([begun[0]?.socket, begun[1]?.socket]);
});

it("does not count the time for which a connection waits for the handshakes of others", async () => {
  const { begun, closed, clock, open } = await paced({ held: true, timeoutMs: 5000 });
  await opened(32, open);
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(32);
  const waiting = await open("hello");
  for (let turns = 0; turns < 20; turns++) await setImmediatePromise();
  clock.advance(7000);
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(33);
  const [last] = begun.slice(-1);
  expect(last?.socket.remotePort).toBe(waiting.localPort);
  clock.advance(4000);
  expect(closed).toHaveLength(32);
  clock.advance(3000);
  expect(closed).toHaveLength(33);
});

it("closes connections without a complete handshake after the timeout, from their begin", async () => {
  const { begun, closed, clock, open, complete } = await paced({ held: true, timeoutMs: 5000 });
  await opened(2, open);
  const silent = await open();
  await expect.poll(() => begun.length, { timeout: 10_000 }).toBe(2);
  complete(begun[0]?.socket);
  clock.advance(4000);
  expect(closed).toEqual([]);
  clock.advance(3000);
  await expect.poll(() => closed.length, { timeout: 10_000 }).toBe(2);
  expect(closed).toContain(begun[1]?.socket);
  expect(closed.map(({ remotePort }) => remotePort)).toContain(silent.localPort);
});

it.each([
  ["addresses", "10.0.0.1", "10.0.0.2"],
  ["IPv6 networks", "2001:db8:1:1::7", "2001:db8:1:2::7"],
])("serves %s in turn", async (_, flood, honest) => {
  const server = new EventEmitter();
  const begun: string[] = [];
  server.on("connection", (socket: Socket) => {
    begun.push(socket.remoteAddress ?? "");
    server.emit("secureConnection", socket);
  });
  const timers = new LoopTimers(new FakeClock(0));
  paceHandshakes(server as unknown as Server, { timers, close: () => undefined });
  for (const [remotePort, remoteAddress] of [...Array<string>(100).fill(flood), honest].entries()) {
    const socket = Object.assign(new PassThrough(), { remoteAddress, remotePort });
    server.emit("connection", socket);
    socket.write("hello");
  }
  await expect.poll(() => begun.length, { timeout: 5000 }).toBe(101);
  expect(begun.indexOf(honest)).toBe(1);
});

it("begins the handshake of a new address after two seconds at most, even if as many addresses as places hold theirs", async () => {
  const server = new EventEmitter();
  const clock = new FakeClock(0);
  const begun: string[] = [];
  server.on("connection", ({ remoteAddress = "" }: Socket) => begun.push(remoteAddress));
  const close = (socket: Socket): void => void socket.destroy();
  paceHandshakes(server as unknown as Server, { timers: new LoopTimers(clock), close });
  let remotePort = 0;
  const connect = (remoteAddress: string): void => {
    const socket = Object.assign(new PassThrough(), { remoteAddress, remotePort: remotePort++ });
    server.emit("connection", socket);
    socket.write("hello");
  };
  for (let round = 0; round < 20; round++) for (let host = 1; host <= 64; host++) connect(`10.0.0.${host}`);
  await expect.poll(() => begun.length).toBe(64);
  connect("10.0.1.1");
  for (let turns = 0; turns < 20; turns++) await setImmediatePromise();
  expect(begun).toHaveLength(64);
  clock.advance(2000);
  await expect.poll(() => begun.length).toBe(128);
  expect(begun.indexOf("10.0.1.1")).toBe(64);
});

it("begins two plaintext connections in a turn, once their clients have sent, and addresses take turns", async () => {
  const server = new EventEmitter();
  const begun: string[] = [];
  server.on("connection", ({ remoteAddress = "" }: Socket) => begun.push(remoteAddress));
  const waiting: (string | undefined)[] = [];
  paceConnections(server as unknown as PlaintextServer, {
    queued: ({ remoteAddress }) => void waiting.push(remoteAddress),
    begun: ({ remoteAddress }) => void waiting.splice(waiting.indexOf(remoteAddress), 1),
  });
  const sockets = ["a", "a", "a", "a", "a", "b"].map((remoteAddress, remotePort) => {
    return Object.assign(new PassThrough(), { remoteAddress, remotePort });
  });
  for (const socket of sockets) server.emit("connection", socket);
  await setImmediatePromise();
  expect(begun).toEqual([]);
  for (const socket of sockets) socket.write("PRI * HTTP/2.0");
  for (const expected of [2, 4, 6]) {
    await setImmediatePromise();
    expect(begun.length).toBeLessThanOrEqual(expected);
    expect(waiting).toHaveLength(6 - begun.length);
  }
  await expect.poll(() => begun.length).toBe(6);
  expect(begun.indexOf("b")).toBe(1);
});

it("accepts connections for 20 ms before it begins handshakes", async () => {
  const server = new EventEmitter();
  const begun: Socket[] = [];
  let now = 0;
  server.on("connection", (socket: Socket) => begun.push(socket));
  const timers = new LoopTimers(new FakeClock(0));
  paceHandshakes(server as unknown as Server, { timers, close: () => undefined, now: () => now });
  let remotePort = 0;
  const turns = async (count: number, ms: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++, now += ms) {
      const socket = Object.assign(new PassThrough(), { remoteAddress: "10.0.0.1", remotePort: remotePort++ });
      server.emit("connection", socket);
      socket.write("hello");
      await setImmediatePromise();
    }
  };
  await turns(10, 1);
  expect(begun).toEqual([]);
  await turns(12, 1);
  expect(begun).toHaveLength(8);
  await turns(10, 1);
  expect(begun).toHaveLength(8);
  await expect.poll(() => begun.length).toBe(32);
});

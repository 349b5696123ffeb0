import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { readLogs } from "../src/agent/container-logs.js";
import { startNodeServer } from "../src/agent/node-server.js";
import { type RemoteProgram, serveProgram, startProgram } from "../src/agent/remote-program.js";
import { untilWritable } from "../src/agent/until-writable.js";

const patience = { timeout: 30_000, interval: 50 };
const MiB = 1 << 20;

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "remote-program-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Serves a program to a client on a Unix socket. */
async function serve(program: RemoteProgram): Promise<{ client: Socket; connection: Socket; served: Promise<void> }> {
  const path = join(await temporaryFolder(), "socket");
  const server = createServer({ allowHalfOpen: true }).listen({ path });
  await once(server, "listening");
  const client = connect({ path });
  const [connection] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => {
    client.destroy();
    connection.destroy();
    server.close();
  });
  connection.on("error", () => connection.destroy());
  return { client, connection, served: serveProgram(connection, program) };
}

const frame = (stream: number, content: Buffer): Buffer => {
  const header = Buffer.alloc(5);
  header.writeUInt8(stream);
  header.writeUInt32BE(content.length, 1);
  return Buffer.concat([header, content]);
};

test("waits for room leave no listeners", async () => {
  let taken: (() => void) | undefined;
  const stream = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void (taken = done) });
  const listeners = (): number => stream.listenerCount("drain") + stream.listenerCount("close");
  const before = listeners();
  for (let i = 0; i < 20; i++) {
    stream.write("content");
    const room = untilWritable(stream);
    taken?.();
    await room;
    expect(listeners()).toBe(before);
  }
  stream.write("content");
  const room = untilWritable(stream);
  stream.destroy();
  await room;
  await untilWritable(stream);
  expect(listeners()).toBe(before);
});

test("much output of a program arrives, and its status", async () => {
  const { client, connection, served } = await serve(
    startProgram(["sh", "-c", "head -c 20000000 /dev/zero; exit 7"], { hasInput: false, isTerminal: false }),
  );
  let maxListeners = 0;
  let received = 0;
  let last = Buffer.alloc(0);
  client.on("data", (bytes: Buffer) => {
    received += bytes.length;
    last = Buffer.concat([last, bytes]).subarray(-6);
    maxListeners = Math.max(maxListeners, connection.listenerCount("close"));
  });
  await served;
  await once(client, "end");
  expect(received).toBeGreaterThan(20_000_000);
  expect(last).toEqual(frame(3, Buffer.from("7")));
  expect(maxListeners).toBeLessThanOrEqual(5);
}, 60_000);

test("a program that reads nothing holds up its input, and ends with its client", async () => {
  const program = startProgram(["sleep", "1000"], { hasInput: true, isTerminal: false });
  const { client, connection } = await serve(program);
  for (let i = 0; i < 16; i++) client.write(frame(0, Buffer.alloc(MiB)));
  let bytesRead = -1;
  await expect
    .poll(() => {
      const isSettled = connection.bytesRead > 0 && connection.bytesRead === bytesRead;
      bytesRead = connection.bytesRead;
      return isSettled;
    }, patience)
    .toBe(true);
  expect(bytesRead).toBeLessThan(3 * MiB);
  client.destroy();
  expect(await program.status).toBe(128 + 9);
}, 60_000);

test("the program of a command that waits for it ends with its client", async () => {
  const script = 'sleep 1000 & echo "$!"; wait';
  const program = startProgram(["sh", "-c", script], { hasInput: false, isTerminal: false });
  const { client } = await serve(program);
  const [first] = (await once(client, "data")) as [Buffer];
  const pid = Number(first.subarray(5).toString());
  expect(process.kill(pid, 0)).toBe(true);
  client.destroy();
  // The status is known when the outputs, which both have, are closed.
  expect(await program.status).toBe(128 + 9);
}, 60_000);

test("all input arrives at a program that reads it", async () => {
  const { client } = await serve(
    startProgram(["sh", "-c", "sleep 0.3; wc -c >&2"], { hasInput: true, isTerminal: false }),
  );
  for (let i = 0; i < 16; i++) client.write(frame(0, Buffer.alloc(MiB)));
  client.write(frame(0, Buffer.alloc(0)));
  const received: Buffer[] = [];
  for await (const bytes of client) received.push(bytes as Buffer);
  expect(Buffer.concat(received)).toEqual(
    Buffer.concat([frame(2, Buffer.from(`${16 * MiB}\n`)), frame(3, Buffer.from("0"))]),
  );
}, 60_000);

test("a log that is followed ends with its client", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "0.log"), "first\n");
  const path = join(folder, "socket");
  let ended = false;
  const stop = await startNodeServer(path, {
    exec: () => Promise.reject(new Error("not used")),
    attach: () => Promise.reject(new Error("not used")),
    network: () => [],
    async *logs({ container, ...selection }, signal) {
      yield* readLogs({ folder, container, isRunning: () => true }, selection, signal);
      ended = true;
    },
  });
  onTestFinished(stop);
  const question = { namespace: "default", pod: "web", container: "main", follow: true, previous: false };
  const asked = request({ socketPath: path, path: "/logs", method: "POST" }).end(JSON.stringify(question));
  asked.on("error", () => undefined);
  const [response] = (await once(asked, "response")) as [NodeJS.ReadableStream];
  const [first] = (await once(response, "data")) as [Buffer];
  expect(String(first)).toBe("first\n");
  expect(ended).toBe(false);
  asked.destroy();
  await expect.poll(() => ended, patience).toBe(true);
}, 60_000);

import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { type AnswerLimits, AnswerQueue } from "@istiod/admin-server";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, expect, it } from "vitest";

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

const bytes = 4 * 1024 * 1024;

/** A server whose answers have four megabytes and are built when they are told to. */
async function serve(limits: AnswerLimits = {}) {
  const queue = new AnswerQueue(limits);
  const building: { readonly path: string | undefined; readonly finish: () => void }[] = [];
  const server = createServer((request, response) => {
    void queue.run(response, async () => {
      await new Promise<void>((finish) => building.push({ path: request.url, finish }));
      response.end(Buffer.alloc(bytes));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  /** Requests a path, and resolves to the response without reading it. */
  const request = (path: string, localAddress = "127.0.0.1") => {
    const call = get({ port, host: "127.0.0.1", path, localAddress, agent: false });
    const answer = new Promise<IncomingMessage>((resolve, reject) => call.on("response", resolve).on("error", reject));
    answer.catch(() => undefined);
    closing.push(() => call.destroy());
    return { answer, leave: () => call.destroy() };
  };
  const begun = (): unknown[] => building.map(({ path }) => path);
  return { request, building, begun };
}

async function readAll(answer: Promise<IncomingMessage>): Promise<number> {
  let read = 0;
  for await (const chunk of await answer) read += (chunk as Buffer).length;
  return read;
}

it("builds one answer at a time, and not for clients that have gone", async () => {
  const { request, building, begun } = await serve();
  const first = request("/a");
  await expect.poll(begun).toEqual(["/a"]);
  const second = request("/b");
  const third = request("/c");
  await turn();
  second.leave();
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(begun()).toEqual(["/a"]);
  building[0]?.finish();
  expect(await readAll(first.answer)).toBe(bytes);
  await expect.poll(begun).toEqual(["/a", "/c"]);
  building[1]?.finish();
  expect(await readAll(third.answer)).toBe(bytes);
});

it("builds no further answer while too much is not read, and cuts off those that are read for long", async () => {
  const clock = new FakeClock();
  const { request, building, begun } = await serve({ maxUnreadBytes: 1024, readMs: 5000, clock });
  const unread = request("/a");
  await expect.poll(begun).toEqual(["/a"]);
  building[0]?.finish();
  const response = await unread.answer;
  const next = request("/b");
  await expect.poll(() => clock.pending.length).toBe(1);
  expect(begun()).toEqual(["/a"]);
  let isCutOff = false;
  response.on("error", () => undefined).on("close", () => (isCutOff = true));
  while (begun().length === 1) {
    clock.advance(1000);
    await turn();
  }
  expect(clock.now()).toBeGreaterThanOrEqual(5000);
  building[1]?.finish();
  expect(await readAll(next.answer)).toBe(bytes);
  response.resume();
  await expect.poll(() => isCutOff).toBe(true);
  expect(response.complete).toBe(false);
});

it("answers 503 to an address with too many waiting requests, and serves another address", async (context) => {
  if (process.platform !== "linux") context.skip("the other address is of Linux's loopback network");
  const { request, building, begun } = await serve({ maxWaiting: 3 });
  const flood = Array.from({ length: 5 }, (_, at) => request(`/${at}`, "127.0.0.66"));
  await expect.poll(begun).toHaveLength(1);
  const refused: unknown[] = [];
  for (const { answer } of flood)
    answer.then(
      ({ statusCode }) => refused.push(statusCode),
      () => undefined,
    );
  await expect.poll(() => refused).toEqual([503, 503]);
  const honest = request("/honest");
  await turn();
  building[0]?.finish();
  await expect.poll(() => begun().length).toBe(2);
  building[1]?.finish();
  await expect.poll(() => begun()[2]).toBe("/honest");
  building[2]?.finish();
  expect(await readAll(honest.answer)).toBe(bytes);
});

it("pauses as long as an answer took", async () => {
  const clock = new FakeClock();
  const queue = new AnswerQueue({ clock });
  const server = createServer((_, response) => {
    void queue.run(response, () => {
      for (const end = performance.now() + 30; performance.now() < end;);
      response.end("ok");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const answers = [1, 2].map(() => fetch(`http://127.0.0.1:${port}/`));
  await Promise.race(answers);
  await expect.poll(() => clock.pending.length).toBe(1);
  expect(clock.pending[0]).toBeGreaterThanOrEqual(30);
  clock.advance(1000);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
});

it("a function that fails rejects, and the next answer is built", async () => {
  const queue = new AnswerQueue();
  const errors: string[] = [];
  const server = createServer((request, response) => {
    queue
      .run(response, () => {
        if (request.url === "/bad") throw new Error("no");
        response.end("ok");
      })
      .catch((error: Error) => {
        errors.push(error.message);
        response.writeHead(500).end();
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  expect((await fetch(`http://127.0.0.1:${port}/bad`)).status).toBe(500);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  expect(errors).toEqual(["no"]);
});

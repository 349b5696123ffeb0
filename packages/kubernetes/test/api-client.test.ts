import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, type ApiClientOptions, type ClusterAccess, createApiClient } from "@istiod/kubernetes";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { gzipped, json, ScriptedServer, status } from "./support/scripted-server.js";

const until = { timeout: 5000, interval: 5 };
let server: ScriptedServer;
let client: ApiClient | undefined;
let directory: string;

beforeEach(async () => {
  server = await ScriptedServer.start();
  directory = mkdtempSync(join(tmpdir(), "api-client-"));
});

afterEach(async () => {
  client?.close();
  await server.stop();
  rmSync(directory, { recursive: true });
});

function connect(access: ClusterAccess = server.access(), options: ApiClientOptions = {}): ApiClient {
  return (client = createApiClient(access, options));
}

test("answers are decompressed, and requests carry the agent, the query and the server's base path", async () => {
  server.reply(gzipped({ kind: "PodList" }));
  const access = server.access({ server: `${server.url}/clusters/one/` });
  expect(await connect(access, { userAgent: "test" }).json({ path: "/api/v1/pods", query: { limit: 5 } })).toEqual({
    kind: "PodList",
  });
  expect(server.received[0]).toMatchObject({
    method: "GET",
    path: "/clusters/one/api/v1/pods",
    query: { limit: "5" },
    headers: { "user-agent": "test", "accept-encoding": "gzip", accept: "application/json" },
  });
});

test.each([
  [400, "BadRequest", "invalid"],
  [403, "Forbidden", "forbidden"],
  [404, "NotFound", "not-found"],
  [406, "NotAcceptable", "not-acceptable"],
  [409, "AlreadyExists", "already-exists"],
  [409, "Conflict", "conflict"],
  [410, "Expired", "expired"],
  [422, "Invalid", "invalid"],
  [429, "TooManyRequests", "too-many-requests"],
  [500, "InternalError", "unavailable"],
  [503, "ServiceUnavailable", "unavailable"],
])("status %i %s is %s", async (code, reason, expected) => {
  server.reply(status(code, "why", reason, { "retry-after": "7" }));
  await expect(connect().json({ path: "/x" })).rejects.toMatchObject({
    code: expected,
    status: code,
    reason,
    retryAfterMs: 7000,
    message: `GET /x: ${code} ${reason}: why`,
  });
});

test("redirects are not followed", async () => {
  server.reply((response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end());
  await expect(connect().json({ path: "/x" })).rejects.toMatchObject({ code: "malformed", status: 302 });
});

test("a rotated token file is read again after 401, once", async () => {
  const file = join(directory, "token");
  writeFileSync(file, "first\n");
  const user = { name: "test", authProvider: { name: "tokenFile", config: { tokenFile: file } } };
  connect({ ...server.access(), user });
  server.reply(json({}));
  await client!.json({ path: "/x" });
  writeFileSync(file, "second\n");
  server.reply(status(401, "expired", "Unauthorized"), json({ ok: true }));
  expect(await client!.json({ path: "/x" })).toEqual({ ok: true });
  server.reply(status(401, "no", "Unauthorized"), status(401, "no", "Unauthorized"));
  await expect(client!.json({ path: "/x" })).rejects.toMatchObject({ code: "unauthorized" });
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
    "Bearer first",
    "Bearer first",
    "Bearer second",
    "Bearer second",
    "Bearer second",
  ]);
});

test("errors do not contain credentials", async () => {
  const access = { ...server.access(), user: { name: "test", token: "secret token" } };
  await expect(connect(access).json({ path: "/x" })).rejects.toMatchObject({
    code: "configuration",
    message: "user test: the token is empty or invalid",
  });
  expect(() => connect(server.access({ server: "https://user:secret@host" }))).toThrow(
    "the server's URL must be https://host or http://host, without credentials",
  );
});

test("an answer without headers, or without further data, times out", async () => {
  const clock = new FakeClock();
  connect(server.access(), { clock });
  server.reply(() => {});
  const first = expect(client!.json({ path: "/x" })).rejects.toMatchObject({
    code: "timeout",
    message: "GET /x: no answer within 30000 ms",
  });
  await vi.waitFor(() => expect(server.received).toHaveLength(1), until);
  clock.advance(30_000);
  await first;
  server.reply((response) => response.writeHead(200, { "content-type": "application/json" }).write("{"));
  const { body } = await client!.send({ path: "/y" });
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  const second = expect(chunks.next()).rejects.toMatchObject({
    code: "timeout",
    message: "GET /y: no data for 30000 ms",
  });
  await vi.waitFor(() => expect(clock.pending).toEqual([30_000]), until);
  clock.advance(30_000);
  await second;
});

test("requests wait for the rate limit in order", async () => {
  const clock = new FakeClock();
  connect(server.access(), { clock, qps: 2, burst: 1 });
  server.reply(json({}), json({}), json({}));
  const all = Promise.all(["/a", "/b", "/c"].map((path) => client!.json({ path })));
  await vi.waitFor(() => expect(server.received.map(({ path }) => path)).toEqual(["/a"]), until);
  clock.advance(500);
  await vi.waitFor(() => expect(server.received.map(({ path }) => path)).toEqual(["/a", "/b"]), until);
  clock.advance(500);
  await all;
  expect(server.received.map(({ path }) => path)).toEqual(["/a", "/b", "/c"]);
});

test("abort and close end requests, also while their body is read", async () => {
  const open = (response: Parameters<Parameters<typeof server.reply>[0]>[0]) =>
    response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  connect();
  server.reply(open, open);
  const controller = new AbortController();
  const first = await client!.send({ path: "/x", signal: controller.signal });
  const second = await client!.send({ path: "/x" });
  const firstChunk = first.body[Symbol.asyncIterator]().next();
  const secondChunk = second.body[Symbol.asyncIterator]().next();
  controller.abort();
  await expect(firstChunk).rejects.toMatchObject({ code: "aborted" });
  client!.close();
  await expect(secondChunk).rejects.toMatchObject({ code: "aborted" });
  await expect(client!.json({ path: "/x" })).rejects.toMatchObject({ code: "aborted" });
});

test("a connection that is refused is a network error", async () => {
  const access = server.access();
  await server.stop();
  server = await ScriptedServer.start();
  await expect(connect(access).json({ path: "/x" })).rejects.toMatchObject({ code: "network" });
});

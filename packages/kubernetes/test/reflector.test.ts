import {
  type ApiClient,
  createApiClient,
  Reflector,
  type ReflectorOptions,
  type ResourceType,
  TypeAvailability,
} from "@istiod/kubernetes";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RecordingHandler } from "./support/recording-handler.js";
import { endOfInitialEvents, json, ScriptedServer, ScriptedWatch, status } from "./support/scripted-server.js";

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const until = { timeout: 60_000, interval: 5 };

let server: ScriptedServer;
let client: ApiClient;
let handler: RecordingHandler;
let reflector: Reflector | undefined;
let errors: unknown[];

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = createApiClient(server.access());
  handler = new RecordingHandler();
  errors = [];
});

afterEach(async () => {
  reflector?.stop();
  client.close();
  await server.stop();
});

function start(options: Partial<ReflectorOptions<Record<string, unknown>>> = {}): void {
  reflector = new Reflector({
    client,
    resource: pods,
    fields: { fields: { spec: { nodeName: true } } },
    handler,
    random: () => 0,
    onError: (error) => errors.push(error),
    ...options,
  });
  reflector.start();
}

function pod(name: string, resourceVersion: string, uid = `uid-${name}`): Record<string, unknown> {
  return {
    metadata: { name, namespace: "shop", uid, resourceVersion, managedFields: [{ manager: "test" }] },
    spec: { nodeName: `node-${name}`, containers: [{ name: "main", image: "x" }] },
  };
}

const page = (resourceVersion: string, items: unknown[], token?: string) =>
  json({ kind: "PodList", apiVersion: "v1", metadata: { resourceVersion, continue: token }, items });
const added = (object: unknown) => ({ type: "ADDED", object });
const noWatchList = status(422, "sendInitialEvents is forbidden", "Invalid");
const logIs = (...log: string[]) => vi.waitFor(() => expect(handler.log).toEqual(log), until);
const requestsAre = (count: number) => vi.waitFor(() => expect(server.received).toHaveLength(count), until);

test("a streaming list reports objects, then changes, with the projected fields only", async () => {
  const watch = new ScriptedWatch();
  server.reply(watch.answer);
  start();
  await requestsAre(1);
  watch.send("ADDED", pod("cart", "1"));
  await logIs("syncing", "+shop/cart@1");
  watch.bookmark("5", true);
  await logIs("syncing", "+shop/cart@1", "synced");
  watch.send("MODIFIED", pod("cart", "6"));
  watch.send("DELETED", pod("cart", "7"));
  await logIs("syncing", "+shop/cart@1", "synced", "+shop/cart@6", "-shop/cart");
  expect(server.received[0]?.query).toEqual({
    watch: "true",
    allowWatchBookmarks: "true",
    timeoutSeconds: "300",
    sendInitialEvents: "true",
    resourceVersionMatch: "NotOlderThan",
  });
  watch.send("ADDED", pod("cart", "8"));
  await vi.waitFor(() => expect(handler.objects.size).toBe(1), until);
  expect(handler.objects.get("shop/cart")).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "cart", namespace: "shop", uid: "uid-cart", resourceVersion: "8" },
    spec: { nodeName: "node-cart" },
  });
});

test("a server without streaming lists is asked for pages, and never for a streaming list again", async () => {
  const watch = new ScriptedWatch();
  server.reply(noWatchList, page("9", [pod("a", "1")], "next"), page("9", [pod("b", "2")]), watch.answer);
  start();
  await requestsAre(4);
  await logIs("syncing", "+shop/a@1", "+shop/b@2", "synced");
  expect(server.received.slice(1).map(({ query }) => query)).toEqual([
    { limit: "500" },
    { limit: "500", continue: "next" },
    { watch: "true", allowWatchBookmarks: "true", timeoutSeconds: "300", resourceVersion: "9" },
  ]);
  server.reply(page("20", [pod("b", "2"), pod("c", "3")]), new ScriptedWatch().answer);
  watch.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
  await logIs("syncing", "+shop/a@1", "+shop/b@2", "synced", "+shop/c@3", "-shop/a");
  expect(server.received[4]?.query).toEqual({ limit: "500" });
});

test("a server that ignores sendInitialEvents is recognized by a bookmark that does not end them", async () => {
  const watch = new ScriptedWatch();
  server.reply(watch.answer, page("9", [pod("a", "1")]), new ScriptedWatch().answer);
  start();
  await requestsAre(1);
  watch.send("ADDED", pod("a", "1"));
  watch.bookmark("3");
  await logIs("syncing", "+shop/a@1", "synced");
  await requestsAre(3);
  expect(server.received.map(({ query }) => query["resourceVersion"])).toEqual([undefined, undefined, "9"]);
});

test("an expired continue token leads to a list without pages, and objects of earlier pages remain", async () => {
  server.reply(
    noWatchList,
    page("9", [pod("a", "1")], "old"),
    status(410, "the provided continue parameter is too old", "Expired"),
    page("12", [pod("a", "1"), pod("b", "11")]),
    new ScriptedWatch().answer,
  );
  start();
  await logIs("syncing", "+shop/a@1", "+shop/b@11", "synced");
  expect(server.received[3]?.query).toEqual({});
});

test("an object of the same name with another uid is deleted first", async () => {
  const watch = new ScriptedWatch();
  server.reply(noWatchList, page("9", [pod("a", "1", "first")]), watch.answer);
  start();
  await requestsAre(3);
  watch.send("MODIFIED", pod("a", "10", "second"));
  // The deletion of the first object, seen late.
  watch.send("DELETED", pod("a", "9", "first"));
  watch.send("MODIFIED", pod("a", "11", "second"));
  await logIs("syncing", "+shop/a@1", "synced", "-shop/a", "+shop/a@10", "+shop/a@11");
});

test("a broken watch continues from the last bookmark without a list", async () => {
  const watch = new ScriptedWatch();
  const second = new ScriptedWatch();
  server.reply(watch.answer, second.answer);
  start();
  await requestsAre(1);
  watch.send("ADDED", pod("a", "1"));
  watch.bookmark("5", true);
  watch.bookmark("8");
  await vi.waitFor(() => expect(handler.log).toContain("synced"), until);
  watch.reset();
  await requestsAre(2);
  expect(server.received[1]?.query["resourceVersion"]).toBe("8");
  await vi.waitFor(() => expect(second.isOpen).toBe(true), until);
  second.send("ADDED", pod("b", "9"));
  await logIs("syncing", "+shop/a@1", "synced", "+shop/b@9");
});

test("a server that fails makes the objects stale, keeps them, and Retry-After is obeyed", async () => {
  const watch = new ScriptedWatch();
  const second = new ScriptedWatch();
  server.reply(watch.answer, status(503, "starting", "ServiceUnavailable", { "retry-after": "1" }), second.answer);
  start();
  await requestsAre(1);
  watch.send("ADDED", pod("a", "1"));
  watch.bookmark("5", true);
  await vi.waitFor(() => expect(handler.log).toContain("synced"), until);
  watch.reset();
  await logIs("syncing", "+shop/a@1", "synced", "stale");
  expect(handler.states[2]).toMatchObject({ error: { code: "unavailable", retryAfterMs: 1000 } });
  await logIs("syncing", "+shop/a@1", "synced", "stale", "synced");
});

test.each([
  [403, "Forbidden", "forbidden"],
  [404, "NotFound", "not-served"],
])("an answer of %i is a state of its own", async (code, reason, phase) => {
  const watch = new ScriptedWatch();
  server.reply(status(code, "no", reason), watch.answer);
  start();
  await logIs("syncing", phase);
  await requestsAre(2);
  watch.bookmark("5", true);
  await logIs("syncing", phase, "synced");
});

test("no event follows stop, even within a batch's handler", async () => {
  server.reply(noWatchList, page("9", [pod("a", "1")]));
  const log: string[] = [];
  start({
    handler: {
      events: (events) => {
        log.push(...events.map(({ name }) => name));
        reflector?.stop();
      },
      state: ({ phase }) => log.push(phase),
    },
  });
  await vi.waitFor(() => expect(log).toEqual(["syncing", "a"]), until);
  await expect(client.json({ path: "/after" })).rejects.toThrow("GET /after: 500: the script has no answer");
  expect(log).toEqual(["syncing", "a"]);
});

test.each([
  { kind: "page", last: "set b" },
  // The end of a streaming list belongs to the batch of its last object.
  { kind: "streaming list", last: "set b, delete a" },
])("no event, state or request follows stop within a relist by a $kind", async ({ kind, last }) => {
  const isPage = kind === "page";
  const watch = new ScriptedWatch();
  const first = isPage ? [noWatchList, page("9", [pod("a", "1")])] : [];
  server.reply(...first, watch.answer);
  const log: string[] = [];
  start({
    handler: {
      events: (events) => {
        log.push(events.map(({ type, name }) => `${type} ${name}`).join(", "));
        if (events.some(({ name }) => name === "b")) reflector?.stop();
      },
      state: ({ phase }) => log.push(phase),
    },
  });
  await requestsAre(first.length + 1);
  if (!isPage) watch.sendAll(added(pod("a", "1")), endOfInitialEvents);
  await vi.waitFor(() => expect(log).toEqual(["syncing", "set a", "synced"]), until);
  const relist = new ScriptedWatch();
  // The list is complete, and lacks a.
  server.reply(isPage ? page("20", [pod("b", "12")]) : relist.answer);
  watch.send("ERROR", { code: 410, reason: "Expired" });
  await requestsAre(first.length + 2);
  if (!isPage) relist.sendAll(added(pod("b", "12")), endOfInitialEvents, added(pod("c", "31")));
  await vi.waitFor(() => expect(log).toContain(last), until);
  await expect(client.json({ path: "/after" })).rejects.toThrow("GET /after: 500: the script has no answer");
  expect(log).toEqual(["syncing", "set a", "synced", last]);
  expect(server.received).toHaveLength(first.length + 3);
  expect(reflector?.state).toEqual({ phase: "synced" });
});

test("an exception of the handler is reported, and later events arrive", async () => {
  const watch = new ScriptedWatch();
  server.reply(watch.answer);
  const names: string[] = [];
  start({
    handler: {
      events: ([event]) => {
        names.push(event!.name);
        if (event!.name === "a") throw new Error("of the handler");
      },
      state: () => {},
    },
  });
  await requestsAre(1);
  watch.send("ADDED", pod("a", "1"));
  await vi.waitFor(() => expect(names).toEqual(["a"]), until);
  watch.send("ADDED", pod("b", "2"));
  await vi.waitFor(() => expect(names).toEqual(["a", "b"]), until);
  expect(errors).toEqual([new Error("of the handler")]);
});

test("an answer cut off within an object deletes nothing, and is listed again", async () => {
  const body = JSON.stringify({ metadata: { resourceVersion: "20" }, items: [pod("a", "1"), pod("b", "2")] });
  const watch = new ScriptedWatch();
  server.reply(
    noWatchList,
    page("9", [pod("a", "1"), pod("b", "2")]),
    watch.answer,
    (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
      response.write(body.slice(0, -60), () => response.destroy());
    },
    page("21", [pod("b", "2")]),
    new ScriptedWatch().answer,
  );
  start();
  await requestsAre(3);
  watch.send("ERROR", { code: 410, reason: "Expired" });
  await logIs("syncing", "+shop/a@1", "+shop/b@2", "synced", "stale", "-shop/a", "synced");
});

const carts: ResourceType = { group: "shop.example", version: "v1", kind: "Cart", plural: "carts", namespaced: true };

test("a type that the server does not serve is asked for again when it is served, and not before", async () => {
  const availability = new TypeAvailability();
  const clock = new FakeClock();
  availability.update([pods], new Set());
  server.reply(status(404, "not found", "NotFound"));
  start({ resource: carts, availability, clock });
  await vi.waitFor(() => expect(handler.log).toContainEqual(expect.stringContaining("not-served")), until);
  availability.update([pods, { ...carts, version: "v1beta1" }], new Set());
  clock.advance(3_600_000);

  const watch = new ScriptedWatch();
  server.reply(watch.answer);
  availability.update([pods, carts], new Set());
  // One more only: the hour before had none.
  await requestsAre(2);
  watch.sendAll(added(pod("cart", "1")), endOfInitialEvents);
  await vi.waitFor(() => expect([...handler.objects.keys()]).toEqual(["shop/cart"]), until);
});

test.each([
  ["no types are known", (_: TypeAvailability) => undefined],
  ["the type is said to be served", (known: TypeAvailability) => known.update([carts], new Set())],
  ["its version could not be read", (known: TypeAvailability) => known.update([], new Set(["shop.example/v1"]))],
])("the attempts continue after a 404 if %s", async (_, know) => {
  const availability = new TypeAvailability();
  know(availability);
  for (let attempt = 0; attempt < 2; attempt++) server.reply(status(404, "not found", "NotFound"));
  start({ resource: carts, availability });
  await requestsAre(2);
});

test("a type that is removed while it is watched is reported as not served", async () => {
  const availability = new TypeAvailability();
  availability.update([carts], new Set());
  const watch = new ScriptedWatch();
  server.reply(watch.answer);
  start({ resource: carts, availability });
  await requestsAre(1);
  watch.sendAll(endOfInitialEvents);
  await vi.waitFor(() => expect(reflector?.state).toEqual({ phase: "synced" }), until);
  availability.update([], new Set());
  server.reply(status(404, "not found", "NotFound"));
  watch.end();
  await vi.waitFor(() => expect(reflector?.state).toMatchObject({ phase: "not-served" }), until);
});

test("a reflector that waits for its type asks no more after stop", async () => {
  const availability = new TypeAvailability();
  availability.update([pods], new Set());
  server.reply(status(404, "not found", "NotFound"));
  start({ resource: carts, availability });
  await vi.waitFor(() => expect(handler.log).toContainEqual(expect.stringContaining("not-served")), until);
  reflector?.stop();
  availability.update([pods, carts], new Set());
  await client.json({ path: "/last" }).catch(() => undefined);
  expect(server.received.map(({ path }) => path)).toEqual([expect.stringContaining("carts"), "/last"]);
});

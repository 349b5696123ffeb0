import { afterEach, expect, it } from "vitest";
import { contract } from "./servers.js";

contract("faults", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const watchNow = async () => {
    const { body } = await server.http.get(path);
    return server.http.watch(path, { resourceVersion: body.metadata.resourceVersion });
  };
  afterEach(() => server.faults.clear());

  it("fails a number of requests", async () => {
    await server.faults.failRequests({ pathPrefix: path, method: "GET", status: 503, times: 2 });
    for (const expected of [503, 503, 200]) {
      const { status, body } = await server.http.get(path);
      expect(status).toBe(expected);
      if (expected === 503) expect(body).toMatchObject({ kind: "Status", status: "Failure", code: 503 });
    }
  });

  it("asks to try again later with 429", async () => {
    await server.faults.failRequests({ pathPrefix: path, status: 429, retryAfterSeconds: 7 });
    const { status, headers, body } = await server.http.get(path);
    expect(status).toBe(429);
    expect(headers["retry-after"]).toBe("7");
    expect(body).toMatchObject({ reason: "TooManyRequests", details: { retryAfterSeconds: 7 } });
  });

  it("fails watches only", async () => {
    await server.faults.failRequests({ pathPrefix: path, watch: true, status: 500 });
    expect((await server.http.get(path)).status).toBe(200);
    const watch = await server.http.watch(path);
    watch.close();
    expect(watch.status).toBe(500);
  });

  it("expires open watches", async () => {
    const watch = await watchNow();
    await server.http.post(path, { metadata: { name: "seen" } });
    expect(await watch.next(1)).toMatchObject([{ type: "ADDED", object: { metadata: { name: "seen" } } }]);
    await server.faults.expireWatches();
    const { events } = await watch.rest();
    expect(events).toMatchObject([{ type: "ERROR", object: { kind: "Status", reason: "Expired", code: 410 } }]);
  });

  it("ends watches cleanly", async () => {
    const watch = await watchNow();
    expect(await server.faults.dropConnections("end", { pathPrefix: path, watch: true })).toBe(1);
    expect(await watch.rest()).toEqual({ events: [], error: undefined });
  });

  it.each(["abort", "reset"] as const)("breaks watches: %s", async (mode) => {
    const watch = await watchNow();
    expect(await server.faults.dropConnections(mode, { pathPrefix: path, watch: true })).toBe(1);
    expect(await watch.rest()).toEqual({ events: [], error: "ECONNRESET" });
  });

  it("continues after it was frozen, and loses nothing", async () => {
    const watch = await watchNow();
    await server.faults.freeze();
    const waiting = server.http.post(path, { metadata: { name: "waiting" } });
    await server.faults.thaw();
    expect((await waiting).status).toBe(201);
    expect(await watch.next(1)).toMatchObject([{ type: "ADDED", object: { metadata: { name: "waiting" } } }]);
    watch.close();
  });

  it("removes faults that are left", async () => {
    await server.faults.failRequests({ status: 500, times: 100 });
    await server.faults.clear();
    expect((await server.http.get(path)).status).toBe(200);
  });
});

import { expect, it } from "vitest";
import { contract } from "./servers.js";

contract("watch", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const version = async (): Promise<string> => (await server.http.get(path)).body.metadata.resourceVersion;
  const summary = (events: readonly { type: string; object: { metadata: { name: string } } }[]) =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`);

  it("sends the changes after a resource version", async () => {
    const resourceVersion = await version();
    await server.http.post(path, { metadata: { name: "a" }, data: { a: "1" } });
    const watch = await server.http.watch(path, { resourceVersion });
    await server.http.mergePatch(`${path}/a`, { data: { a: "2" } });
    await server.http.delete(`${path}/a`);
    const events = await watch.next(3);
    watch.close();
    expect(summary(events)).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
    expect(events[1]!.object).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { a: "2" } });
    expect(events[2]!.object.data).toEqual({ a: "2" });
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions[0]).toBeLessThan(versions[1]!);
    expect(versions[1]).toBeLessThan(versions[2]!);
  });

  it("sends an object that starts or stops matching the selector as ADDED and DELETED", async () => {
    await server.http.post(path, { metadata: { name: "labelled" } });
    const watch = await server.http.watch(path, { resourceVersion: await version(), labelSelector: "app=web" });
    await server.http.mergePatch(`${path}/labelled`, { metadata: { labels: { app: "web" } } });
    await server.http.mergePatch(`${path}/labelled`, { data: { a: "1" } });
    await server.http.mergePatch(`${path}/labelled`, { metadata: { labels: { app: "other" } } });
    const events = await watch.next(3);
    watch.close();
    expect(summary(events)).toEqual(["ADDED labelled", "MODIFIED labelled", "DELETED labelled"]);
  });

  it("starts with the present objects without a resource version", async () => {
    await server.http.post(path, { metadata: { name: "present" } });
    const watch = await server.http.watch(path, { fieldSelector: "metadata.name=present" });
    expect(summary(await watch.next(1))).toEqual(["ADDED present"]);
    watch.close();
  });

  it("marks the end of the initial events with a bookmark", async () => {
    await server.http.post(path, { metadata: { name: "initial" } });
    const watch = await server.http.watch(path, {
      fieldSelector: "metadata.name=initial",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
    });
    const [added, end] = await watch.next(2);
    watch.close();
    expect(added).toMatchObject({ type: "ADDED", object: { metadata: { name: "initial" } } });
    expect(end).toMatchObject({
      type: "BOOKMARK",
      object: { kind: "ConfigMap", metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
    });
  });

  it("ends after the timeout", async () => {
    const watch = await server.http.watch(path, { resourceVersion: await version(), timeoutSeconds: "1" });
    expect(await watch.rest()).toEqual({ events: [], error: undefined });
  });

  it("answers a compacted resource version with an ERROR event", async () => {
    const resourceVersion = await version();
    await server.http.post(path, { metadata: { name: "compacted" } });
    await server.faults.expireWatches();
    const watch = await server.http.watch(path, { resourceVersion });
    const { events } = await watch.rest();
    expect(events).toMatchObject([
      { type: "ERROR", object: { kind: "Status", status: "Failure", reason: "Expired", code: 410 } },
    ]);
  });
});

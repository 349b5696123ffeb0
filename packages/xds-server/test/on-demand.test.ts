import { Code, ConnectError } from "@connectrpc/connect";
import { FakeClock } from "@istiod/runtime/testing";
import { clusterType } from "@istiod/xds-server";
import { idle } from "@istiod/xds-server/testing";
import { expect, it } from "vitest";
import { onEach, setup } from "./harness.js";

const debugType = "example.io/debug";

onEach(["memory", "http2"], (variant, transport) => {
  it("a request of an on-demand type is answered by the first handler that knows the type", async () => {
    const { server, client } = await setup(variant, transport, { [clusterType]: [] });
    const asked: unknown[] = [];
    server.handle((node, typeUrl, names) => {
      asked.push([node.id, typeUrl, [...names]]);
      return undefined;
    });
    server.handle((_, typeUrl) =>
      typeUrl === debugType ? { resources: [{ name: "a", typeUrl, bytes: Buffer.from("first") }] } : undefined,
    );
    server.handle((_, typeUrl) => ({ resources: [{ name: "a", typeUrl, bytes: Buffer.from("second") }] }));
    const asking = client();
    asking.subscribe(debugType, ["syncz"]);
    const { resources } = await asking.next(debugType);
    expect(resources.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["first"]);
    expect(asked).toEqual([["test", debugType, ["syncz"]]]);
  });

  it("the error of a handler ends the stream", async () => {
    const { server, client } = await setup(variant, transport, { [clusterType]: [] });
    server.handle(() => Promise.reject(new ConnectError("not for this caller", Code.PermissionDenied)));
    const asking = client();
    asking.subscribe(debugType, ["syncz"]);
    expect((await asking.ended)?.code).toBe(Code.PermissionDenied);
  });
});

it("no further answer is built while too many are unread, and clients that do not read are cut off", async () => {
  const clock = new FakeClock();
  const { server, client } = await setup("delta", "http2", { [clusterType]: [] }, { clock });
  const bytes = Buffer.alloc(8 * 1024 * 1024);
  let built = 0;
  server.handle(async (_, typeUrl, names, untilRoom) => {
    const [name = ""] = names;
    await untilRoom();
    built++;
    return { resources: [{ name, typeUrl, bytes: name === "small" ? Buffer.from("a") : bytes }] };
  });
  for (let unread = 0; unread < 4; unread++) {
    const stalled = client();
    stalled.pause(true);
    stalled.subscribe(debugType, ["large"]);
    await expect.poll(() => built).toBe(unread + 1);
  }
  await expect.poll(() => server.connections().filter((each) => each.outstandingBytes > 0)).toHaveLength(4);
  const honest = client();
  honest.subscribe(debugType, ["small"]);
  const answer = honest.next(debugType);
  for (let turns = 0; turns < 50; turns++) await idle();
  expect(built).toBe(4);
  while (built === 4) {
    clock.advance(1000);
    await idle();
  }
  expect(clock.now()).toBeGreaterThanOrEqual(10_000);
  expect((await answer).resources).toHaveLength(1);
  await expect.poll(() => server.connections()).toHaveLength(1);
});

it("small answers count until they are read", async () => {
  const { server, client } = await setup("delta", "memory", { [clusterType]: [] });
  const bytes = Buffer.alloc(60 * 1024);
  let built = 0;
  server.handle(async (_, typeUrl, names, untilRoom) => {
    const [name = ""] = names;
    await untilRoom();
    built++;
    return { resources: [{ name, typeUrl, bytes }] };
  });
  const stalled = Array.from({ length: 560 }, () => client());
  for (const each of stalled) {
    each.pause(true);
    each.subscribe(debugType, ["a"]);
    await idle();
  }
  const limit = Math.ceil((32 * 1024 * 1024) / bytes.length);
  expect(built).toBeGreaterThan(limit - 10);
  expect(built).toBeLessThanOrEqual(limit);
  for (const each of stalled) each.pause(false);
  await expect.poll(() => built).toBe(stalled.length);
});

import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it } from "vitest";
import { type EventDetails, type EventObject, EventRecorder } from "@istiod/kubernetes";
import { failure, FakeApiClient, type SeenRequest, settle } from "./fake-client.js";

const entry: EventObject = {
  apiVersion: "networking.istio.io/v1",
  kind: "ServiceEntry",
  namespace: "shop",
  name: "db",
  uid: "u1",
};
const details: EventDetails = { type: "Warning", reason: "NoAddress", message: "no address is left" };

function setup(answer: (request: SeenRequest, count: number) => unknown = () => ({})) {
  const client = new FakeApiClient(answer);
  const dates = new FakeClock(Date.UTC(2026, 0, 1));
  const clock = new FakeClock();
  const dropped: unknown[] = [];
  const recorder = new EventRecorder(client, {
    component: "ip-autoallocate",
    dates,
    clock,
    maxQueued: 100,
    onDropped: (_, { message }, error) => dropped.push(error ?? message),
  });
  return { client, dates, clock, dropped, recorder };
}
const bodies = (client: FakeApiClient) => client.requests.map(({ body }) => body as { message: string; count: number });

describe("events", () => {
  it("are created once, and counted afterwards", async () => {
    const { client, dates, recorder } = setup();
    recorder.record(entry, details);
    dates.advance(2000);
    recorder.record({ ...entry, resourceVersion: "2" }, details);
    await recorder.flush();
    const [created, updated] = client.requests;
    expect(created).toMatchObject({
      method: "POST",
      path: "/api/v1/namespaces/shop/events",
      body: {
        metadata: { namespace: "shop", name: expect.stringMatching(/^db\.[0-9a-f]{16}$/) },
        involvedObject: entry,
        ...details,
        count: 1,
        firstTimestamp: "2026-01-01T00:00:00Z",
        lastTimestamp: "2026-01-01T00:00:00Z",
        source: { component: "ip-autoallocate" },
      },
    });
    const { metadata } = created?.body as { metadata: { name: string } };
    expect(updated).toMatchObject({
      method: "PATCH",
      path: `/api/v1/namespaces/shop/events/${metadata.name}`,
      body: { count: 2, message: details.message, lastTimestamp: "2026-01-01T00:00:02Z" },
    });
  });

  it("of cluster-scoped objects are in the namespace default", async () => {
    const { client, recorder } = setup();
    recorder.record({ apiVersion: "v1", kind: "Node", name: "n" }, details);
    await recorder.flush();
    expect(client.requests[0]?.path).toBe("/api/v1/namespaces/default/events");
  });

  it("are combined from the tenth message of a reason within ten minutes", async () => {
    const { client, dates, recorder } = setup();
    const record = (message: string): void => recorder.record(entry, { ...details, message });
    for (let number = 1; number <= 11; number++) record(`message ${number}`);
    dates.advance(600_001);
    record("later");
    await recorder.flush();
    expect(bodies(client).map(({ message, count }) => `${message} ×${count}`)).toEqual([
      ...Array.from({ length: 9 }, (_, index) => `message ${index + 1} ×1`),
      "(combined from similar events): message 10 ×1",
      "(combined from similar events): message 11 ×2",
      "later ×1",
    ]);
  });

  it("are limited to 25 for each object, and one more every five minutes", async () => {
    const { client, dates, dropped, recorder } = setup();
    for (let count = 0; count < 30; count++) recorder.record(entry, details);
    recorder.record({ ...entry, name: "other" }, details);
    await recorder.flush();
    expect(client.requests).toHaveLength(26);
    expect(dropped).toHaveLength(5);
    dates.advance(300_000);
    recorder.record(entry, details);
    recorder.record(entry, details);
    await recorder.flush();
    expect(bodies(client).at(-1)).toMatchObject({ count: 31 });
    expect(client.requests).toHaveLength(27);
  });

  it("that have expired are created again", async () => {
    const { client, recorder } = setup(({ method }) => {
      if (method === "PATCH") throw failure.notFound();
      return {};
    });
    recorder.record(entry, details);
    recorder.record(entry, details);
    await recorder.flush();
    expect(client.requests.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
    expect(bodies(client).at(-1)).toMatchObject({ count: 2, reason: "NoAddress" });
  });

  it("never fail their caller: errors, a full queue and a stopped recorder drop them", async () => {
    const { clock, dropped, recorder } = setup((_, count) => {
      if (count === 1) throw failure.forbidden();
      throw failure.unavailable();
    });
    recorder.record(entry, details);
    await recorder.flush();
    expect(dropped).toMatchObject([{ code: "forbidden" }]);
    for (let count = 0; count < 102; count++) recorder.record({ ...entry, name: `e${count}` }, details);
    expect(dropped).toHaveLength(2);
    await settle(2);
    expect(clock.pending).toHaveLength(1);
    await recorder.stop();
    expect(dropped).toHaveLength(103);
    recorder.record(entry, details);
    expect(dropped).toHaveLength(104);
  });
});

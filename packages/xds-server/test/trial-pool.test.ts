import { FakeClock } from "@istiod/runtime/testing";
import { routeType } from "@istiod/xds-server";
import { fakeResource, type XdsClient } from "@istiod/xds-server/testing";
import { expect, it } from "vitest";
import { TrialPool, type TrialShare } from "../src/limits/trial-pool.js";
import { onEach, setup } from "./harness.js";

const names = Array.from({ length: 64 }, (_, i) => `route-${String(i).padStart(2, "0")}`);

onEach(["memory"], (variant) => {
  /** Connects a fleet of which each client rejects responses with a bad resource and names none. */
  const fleet = async (size: number, isBad: (name: string) => boolean) => {
    const clock = new FakeClock();
    const resources = names.map((name) => fakeResource(name, "1"));
    const served = await setup(variant, "memory", { [routeType]: resources }, { clock, random: () => 0 });
    const clients: XdsClient[] = [];
    const connect = (count: number): void => {
      for (let i = 0; i < count; i++) {
        const client = served.client();
        client.subscribe(routeType, names);
        clients.push(client);
      }
    };
    connect(size);
    const answer = async (client: XdsClient): Promise<number> => {
      const responses = await client.settled();
      for (const response of responses)
        if (response.names.some(isBad)) client.nack(response, "no");
        else client.ack(response);
      return responses.length;
    };
    /** Answers until no client has a response. Returns the number of responses. */
    const settle = async (): Promise<number> => {
      for (let all = 0; ;) {
        let came = 0;
        for (const client of clients) came += await answer(client);
        if (came === 0) return all;
        all += came;
      }
    };
    const lacking = (): number =>
      served.server
        .connections()
        .flatMap(({ subscriptions }) => subscriptions)
        .flatMap(({ stateOf }) => names.filter((name) => !isBad(name) && stateOf(name)?.state !== "acknowledged"))
        .length;
    return { connect, settle, lacking, clock };
  };

  it("a fleet that rejects one resource has all others at once", async () => {
    const { connect, settle, lacking } = await fleet(100, (name) => name === "route-17");
    await settle();
    expect(lacking()).toBe(0);
    // The resource that others have rejected alone is sent apart from the rest.
    connect(1);
    expect(await settle()).toBe(3);
    expect(lacking()).toBe(0);
  });

  it("a fleet that rejects several resources has all others within seconds", async () => {
    const bad = new Set(["route-03", "route-17", "route-40", "route-41", "route-63"]);
    const { settle, lacking, clock } = await fleet(100, (name) => bad.has(name));
    await settle();
    for (let second = 0; second < 5; second++) {
      clock.advance(1000);
      await settle();
    }
    expect(lacking()).toBe(0);
  });

  it("a fleet that rejects everything is sent a bounded number of responses", async () => {
    const { settle, clock } = await fleet(300, () => true);
    expect(await settle()).toBeLessThanOrEqual(300 + 64);
    let more = 0;
    for (let second = 0; second < 20; second++) {
      clock.advance(1000);
      more += await settle();
    }
    expect(more).toBeGreaterThan(20);
    expect(more).toBeLessThanOrEqual(20 * 3);
  });
});

it("streams that reject everything do not hold up one that begins to search", () => {
  const clock = new FakeClock();
  const pool = new TrialPool(clock);
  const woken: string[] = [];
  const stream = (name: string): TrialShare => pool.join(() => woken.push(name));
  const broken = Array.from({ length: 100 }, (_, i) => stream(`broken ${i}`));
  for (const share of broken.slice(0, 16)) share.used(0);
  for (let failures = 1; failures < 10; failures++)
    for (const share of broken) if (share.admits(failures)) share.used(failures);
  const fresh = stream("fresh");
  expect(fresh.admits(0)).toBe(false);
  for (const share of broken) share.admits(10);
  clock.advance(1000);
  expect(woken).toContain("fresh");
  expect(woken.length).toBeLessThan(10);
});

it("a stream that has ended is not woken", () => {
  const clock = new FakeClock();
  const pool = new TrialPool(clock);
  const woken: string[] = [];
  const share = pool.join(() => woken.push("ended"));
  while (share.admits(0)) share.used(0);
  share.close();
  clock.advance(10_000);
  expect(woken).toEqual([]);
});

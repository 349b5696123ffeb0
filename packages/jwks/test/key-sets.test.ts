import { FakeClock } from "@istiod/runtime/testing";
import { expect, it } from "vitest";
import {
  type FetchKeySet,
  JwksError,
  KeySets,
  type KeySetsOptions,
  type KeySetSource,
  refreshSchedule,
  sourceKey,
} from "../src/index.js";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const minute = 60_000;
const source = (name: string): KeySetSource => ({ issuer: "", jwksUri: `https://${name}/`, timeoutMs: 5000 });
const key = (name: string): string => sourceKey(source(name));

function keySets(fetch: (source: KeySetSource) => string | Promise<string>, options: Partial<KeySetsOptions> = {}) {
  const clock = new FakeClock(0);
  const fetches: { readonly at: number; readonly uri: string }[] = [];
  const counted: FetchKeySet = async (of) => {
    fetches.push({ at: clock.now(), uri: of.jwksUri });
    return fetch(of);
  };
  const sets = new KeySets({
    fetch: counted,
    schedule: refreshSchedule(20 * minute, () => 1),
    onChange: () => undefined,
    clock,
    ...options,
  });
  return { sets, clock, fetches, state: (name: string) => sets.states().get(key(name)) };
}

it("are fetched once a period, however many want them, in a different moment each", async () => {
  let random = 0;
  const schedule = refreshSchedule(20 * minute, () => (random += 0.02) % 1);
  const { sets, clock, fetches } = keySets(() => "{}", { schedule });
  // 1,000 rules want 50 key sets.
  const wanted = Array.from({ length: 1000 }, (_, i) => source(`a${i % 50}`));
  sets.want(wanted);
  await clock.advanceSettled(0);
  expect(fetches).toHaveLength(50);
  sets.want(wanted);
  await clock.advanceSettled(20 * minute);
  expect(fetches).toHaveLength(100);
  const refreshes = new Set(fetches.slice(50).map(({ at }) => at));
  expect(refreshes.size).toBeGreaterThan(40);
  for (let period = 3; period <= 10; period++) {
    await clock.advanceSettled(20 * minute);
    expect(fetches).toHaveLength(50 * period);
  }
  sets.stop();
});

it("are kept while refreshes fail, and dropped after 7 days of failures", async () => {
  let isDown = false;
  const { sets, clock, state } = keySets(() => {
    if (isDown) throw new JwksError("status", "keys answers with status 503");
    return "{}";
  });
  sets.want([source("a")]);
  await clock.advanceSettled(0);
  expect(state("a")).toEqual({ keys: "{}", fetchedAt: 0 });
  isDown = true;
  await clock.advanceSettled(20 * minute);
  expect(state("a")).toEqual({ keys: "{}", fetchedAt: 0, failure: "keys answers with status 503" });
  await clock.advanceSettled(6 * 24 * 60 * minute);
  expect(state("a")?.keys).toBe("{}");
  await clock.advanceSettled(24 * 60 * minute);
  expect(state("a")).toEqual({ failure: "keys answers with status 503" });
  isDown = false;
  await clock.advanceSettled(20 * minute);
  expect(state("a")).toMatchObject({ keys: "{}" });
  expect(state("a")).not.toHaveProperty("failure");
  sets.stop();
});

it("are retried within seconds, then with backoff, and not later than they would be refreshed", async () => {
  const { sets, clock, fetches } = keySets(() => Promise.reject(new Error("down")));
  sets.want([source("a")]);
  await clock.advanceSettled(120 * minute);
  const delays = fetches.slice(1).map(({ at }, i) => (at - (fetches[i]?.at ?? 0)) / 1000);
  expect(delays.slice(0, 14)).toEqual([1, 1, 1, 1, 1, 1, 1, 60, 120, 240, 480, 960, 1200, 1200]);
  sets.stop();
});

it("that nobody wants any more are dropped, and their fetches end", async () => {
  const ended: string[] = [];
  const changes: string[] = [];
  const clock = new FakeClock(0);
  const sets = new KeySets({
    fetch: ({ jwksUri }, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          ended.push(jwksUri);
          reject(new JwksError("aborted", "ended"));
        });
      }),
    schedule: refreshSchedule(minute),
    onChange: (of, _, state) => changes.push(`${of}: ${JSON.stringify(state)}`),
    clock,
  });
  sets.want([source("a"), source("b")]);
  sets.want([source("b")]);
  await settled();
  expect(ended).toEqual(["https://a/"]);
  expect([...sets.states().keys()]).toEqual([key("b")]);
  expect(changes).toEqual([`${key("a")}: {}`, `${key("b")}: {}`, `${key("a")}: undefined`]);
  sets.want([]);
  await sets.attempted();
  expect(ended).toEqual(["https://a/", "https://b/"]);
});

it("are fetched a few at a time, and limited in total", async () => {
  let running = 0;
  let most = 0;
  const { sets, clock } = keySets(
    async () => {
      most = Math.max(most, ++running);
      await settled();
      running--;
      return "x".repeat(10);
    },
    { maxConcurrentFetches: 3, maxTotalLength: 55 },
  );
  sets.want(Array.from({ length: 10 }, (_, i) => source(`a${i}`)));
  await sets.attempted();
  expect(most).toBe(3);
  const states = [...sets.states().values()];
  expect(states.filter(({ keys }) => keys !== undefined)).toHaveLength(5);
  expect(
    states.filter(({ failure }) => failure === "all key sets together are longer than 55 characters"),
  ).toHaveLength(5);
  // Key sets that are no longer wanted make room.
  sets.want(Array.from({ length: 5 }, (_, i) => source(`a${i + 5}`)));
  await clock.advanceSettled(minute);
  expect([...sets.states().values()].filter(({ keys }) => keys !== undefined)).toHaveLength(5);
  sets.stop();
});

const owned = (owner: string, name: string): KeySetSource => ({ ...source(name), owners: [owner] });

it("of an owner whose servers do not answer delay neither the keys of others nor their refreshes", async () => {
  const hanging = new Map<string, () => void>();
  const { sets, clock, fetches, state } = keySets(({ jwksUri }) =>
    jwksUri.includes("hangs")
      ? new Promise((_, reject) => hanging.set(jwksUri, () => reject(new JwksError("timeout", "no answer"))))
      : "{}",
  );
  const bad = Array.from({ length: 120 }, (_, i) => owned("evil", `hangs-${i}`));
  sets.want(bad);
  sets.want([...bad, ...Array.from({ length: 100 }, (_, i) => owned(`shop-${i % 10}`, `good-${i}`))]);
  await clock.advanceSettled(0);
  for (let i = 0; i < 100; i++) expect(state(`good-${i}`)?.keys).toBe("{}");
  expect(hanging.size).toBe(8);
  await clock.advanceSettled(20 * minute);
  expect(fetches.filter(({ uri }) => uri.includes("good")).length).toBe(200);
  // Its own are fetched as room is made.
  for (const fail of [...hanging.values()]) fail();
  await settled();
  expect(hanging.size).toBe(16);
  sets.stop();
});

it("of many owners whose servers do not answer leave a turn to each other owner", async () => {
  const hanging: (() => void)[] = [];
  const { sets, clock, state } = keySets(({ jwksUri }) =>
    jwksUri.includes("hangs")
      ? new Promise((_, reject) => hanging.push(() => reject(new JwksError("timeout", "no answer"))))
      : "{}",
  );
  const bad = Array.from({ length: 20 * 20 }, (_, i) => owned(`evil-${i % 20}`, `hangs-${i}`));
  sets.want(bad);
  sets.want([...bad, owned("shop", "good")]);
  await clock.advanceSettled(0);
  expect(hanging).toHaveLength(64);
  expect(state("good")).toEqual({});
  // Each of the 20 others has at most one turn before.
  for (let i = 0; i < 21; i++) {
    hanging.shift()?.();
    await settled();
  }
  expect(state("good")?.keys).toBe("{}");
  sets.stop();
});

it("from one host that does not answer leave the owner's other hosts a share", async () => {
  const { sets, clock, fetches, state } = keySets(({ jwksUri }) =>
    jwksUri.includes("hangs") ? new Promise<string>(() => undefined) : "{}",
  );
  const bad = Array.from({ length: 50 }, (_, i) => owned("shop", `hangs/${i}`));
  sets.want([...bad, owned("shop", "good")]);
  await clock.advanceSettled(0);
  expect(fetches.filter(({ uri }) => uri.includes("hangs"))).toHaveLength(4);
  expect(state("good")?.keys).toBe("{}");
  sets.stop();
});

it("that two owners want are fetched in the turn of either", async () => {
  const { sets, clock, state } = keySets(({ jwksUri }) =>
    jwksUri.includes("hangs") ? new Promise<string>(() => undefined) : "{}",
  );
  const bad = Array.from({ length: 50 }, (_, i) => owned("evil", `hangs-${i}`));
  sets.want([...bad, { ...source("shared"), owners: ["evil", "shop"] }]);
  await clock.advanceSettled(0);
  expect(state("shared")?.keys).toBe("{}");
  sets.stop();
});

it("of one owner are at most a quarter of the total length", async () => {
  const { sets, clock, state } = keySets(() => "x".repeat(10), { maxTotalLength: 100 });
  sets.want([...["a", "b", "c"].map((name) => owned("evil", name)), owned("shop", "d")]);
  await clock.advanceSettled(0);
  expect(["a", "b", "c"].map((name) => state(name)?.failure)).toContain(
    "the key sets of evil together are longer than 25 characters",
  );
  expect(state("d")?.keys).toHaveLength(10);
  sets.stop();
});

it("keep their turn until the resolution of their host has ended", async () => {
  const ends: (() => void)[] = [];
  const fetched: string[] = [];
  const clock = new FakeClock(0);
  const sets = new KeySets({
    fetch: ({ jwksUri }, _, hold) => {
      fetched.push(jwksUri);
      hold?.(new Promise<void>((end) => ends.push(end)));
      return Promise.reject(new JwksError("timeout", "no answer"));
    },
    schedule: refreshSchedule(minute, () => 0),
    onChange: () => undefined,
    clock,
    maxFetchesPerOwner: 2,
  });
  sets.want([owned("shop", "a"), owned("shop", "b"), owned("shop", "c")]);
  await clock.advanceSettled(2 * minute);
  expect(fetched).toEqual(["https://a/", "https://b/"]);
  ends[0]?.();
  await settled();
  expect(fetched).toHaveLength(3);
  sets.stop();
});

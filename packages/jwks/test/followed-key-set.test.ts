import { FakeClock } from "@istiod/runtime/testing";
import { expect, it } from "vitest";
import { followKeySet, JwksError, KeySets, type KeySetSource, refreshSchedule, sourceKey } from "../src/index.js";

const source: KeySetSource = { issuer: "https://issuer", jwksUri: "", timeoutMs: 5000 };
const minute = 60_000;

function follow(answers: (fetch: number) => string | Promise<string>) {
  const clock = new FakeClock(0);
  const lines: string[] = [];
  let fetches = 0;
  const write = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const followed = followKeySet({
    source,
    fetch: async () => answers(++fetches),
    schedule: refreshSchedule(20 * minute, () => 1),
    clock,
    log: { info: write, warn: write },
  });
  return { followed, clock, lines, fetches: () => fetches };
}

it("a key set is fetched, refreshed, and kept while the provider is down", async () => {
  const { followed, clock, lines } = follow((fetch) => {
    if (fetch === 1 || fetch === 3) throw new JwksError("status", "the provider answers with status 503");
    return `{"keys": [${fetch}]}`;
  });
  await followed.attempted();
  expect(followed.keys()).toBeUndefined();
  await clock.advanceSettled(1000);
  expect(followed.keys()).toBe('{"keys": [2]}');
  await clock.advanceSettled(20 * minute);
  expect(followed.keys()).toBe('{"keys": [2]}');
  await clock.advanceSettled(1000);
  expect(followed.keys()).toBe('{"keys": [4]}');
  await clock.advanceSettled(20 * minute);
  const fields = String.raw`"jwks":"issuer \"https://issuer\""`;
  const failure = `{${fields},"reason":"the provider answers with status 503"}`;
  expect(lines).toEqual([
    `failed to fetch JWKS, its tokens are rejected ${failure}`,
    `fetched JWKS after failures {${fields}}`,
    `failed to fetch JWKS, keeping the last keys ${failure}`,
    `fetched JWKS after failures {${fields}}`,
    `updated JWKS {${fields}}`,
  ]);
  followed.stop();
});

it("a refresh fetches rotated keys at once, and at most every 10 seconds, for all callers together", async () => {
  const { followed, clock, fetches } = follow((fetch) => `{"keys": [${fetch}]}`);
  await followed.attempted();
  await followed.refresh();
  expect(fetches()).toBe(1);
  await clock.advanceSettled(10_000);
  await Promise.all(Array.from({ length: 100 }, () => followed.refresh()));
  expect([fetches(), followed.keys()]).toEqual([2, '{"keys": [2]}']);
  await followed.refresh();
  expect(fetches()).toBe(2);
  // The interval counts from the refresh.
  await clock.advanceSettled(20 * minute - 1);
  expect(fetches()).toBe(2);
  await clock.advanceSettled(1);
  expect(fetches()).toBe(3);
  followed.stop();
  await followed.refresh();
  expect(fetches()).toBe(3);
});

it("a refresh of a provider that does not answer is awaited for a second", async () => {
  const { followed, clock } = follow((fetch) => (fetch === 1 ? "{}" : new Promise(() => undefined)));
  await followed.attempted();
  clock.advance(10_000);
  let isOver = false;
  const refreshed = followed.refresh().then(() => (isOver = true));
  await clock.advanceSettled(999);
  expect(isOver).toBe(false);
  await clock.advanceSettled(1);
  await refreshed;
  expect([isOver, followed.keys()]).toEqual([true, "{}"]);
  followed.stop();
});

it("a refresh joins the fetch in progress, and ignores key sets that are not wanted", async () => {
  const clock = new FakeClock(0);
  let fetches = 0;
  let answer = (_: string): void => undefined;
  const sets = new KeySets({
    fetch: () => new Promise((resolve) => (fetches++, (answer = resolve))),
    schedule: refreshSchedule(20 * minute, () => 1),
    onChange: () => undefined,
    clock,
  });
  sets.want([source]);
  clock.advance(minute);
  const refreshed = sets.refresh(sourceKey(source));
  await sets.refresh("unknown");
  await clock.advanceSettled(0);
  answer("{}");
  await refreshed;
  expect([fetches, sets.states().get(sourceKey(source))?.keys]).toEqual([1, "{}"]);
  sets.stop();
});

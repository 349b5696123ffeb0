import fc from "fast-check";
import { expect, it } from "vitest";
import { Candidate, ElectionWorld, type ExecutedWrite } from "./election-world.js";

/** A pseudo-random number generator (mulberry32), so that one number determines a whole run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the terms in which the server has executed a write of another process between the first and the last one. */
function overlaps(writes: readonly ExecutedWrite[]): string[] {
  const processOf = (term: string | undefined): string | undefined => term?.split("#")[0];
  const terms = writes.map(({ by }) => by);
  return [...new Set(terms)].filter((term) =>
    terms.slice(terms.indexOf(term), terms.lastIndexOf(term)).some((other) => processOf(other) !== processOf(term)),
  );
}

const action = fc.record({
  after: fc.integer({ min: 0, max: 60_000 }),
  kind: fc.constantFrom("crash", "stop", "start", "default-a", "default-b", "network", "cut-off"),
  index: fc.nat({ max: 2 }),
});
const schedule = fc.record({
  seed: fc.integer(),
  lock: fc.constantFrom("lease" as const, "configmap" as const),
  failures: fc.constantFrom(0, 0.05, 0.3),
  maxDelayMs: fc.constantFrom(10, 500, 1500),
  rates: fc.tuple(...[0, 1, 2].map(() => fc.constantFrom(0.85, 1, 1.15))),
  candidates: fc.integer({ min: 2, max: 3 }),
  actions: fc.array(action, { maxLength: 12 }),
});

it("no two fenced leaders both write, and somebody leads in the end", { timeout: 300_000 }, async () => {
  let terms = 0;
  await fc.assert(
    fc.asyncProperty(schedule, async ({ seed, lock, failures, maxDelayMs, rates, candidates, actions }) => {
      const world = new ElectionWorld({ random: generator(seed), lock, maxDelayMs, failures });
      let processes = 0;
      const create = (index: number): Candidate =>
        new Candidate(world, {
          name: `${index}-${processes++}`,
          rate: rates[index] ?? 1,
          revision: index === 1 ? "b" : "a",
        });
      const running = Array.from({ length: candidates }, (_, index) => create(index));
      for (const { after, kind, index } of actions) {
        await world.run(after);
        const candidate = running[index];
        if (kind === "default-a" || kind === "default-b") world.defaultRevision = kind.slice(-1);
        else if (kind === "network") world.failures = 1;
        else if (candidate === undefined) continue;
        else if (kind === "crash") candidate.crash();
        else if (kind === "stop") void candidate.election.stop();
        if (kind === "start" || kind === "crash") {
          if (kind === "start") void candidate?.election.stop();
          if (candidate) running[index] = create(index);
        }
        if (kind !== "network") world.failures = failures;
        world.cutOff = kind === "cut-off" ? (candidate?.name ?? "") : "";
      }
      world.failures = 0;
      world.cutOff = "";
      running.push(create(2));
      await world.run(120_000);
      const before = world.writes.length;
      await world.run(30_000);
      expect(world.failuresSeen).toEqual([]);
      expect(overlaps(world.writes)).toEqual([]);
      expect(world.writes.length).toBeGreaterThan(before);
      terms += new Set(world.writes.map(({ by }) => by)).size;
    }),
    { numRuns: Number(process.env["ELECTION_RUNS"] ?? 60) },
  );
  expect(terms).toBeGreaterThan(60);
});

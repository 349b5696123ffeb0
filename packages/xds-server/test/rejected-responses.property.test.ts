import { ResourceSet } from "@istiod/resources";
import { FakeClock } from "@istiod/runtime/testing";
import { clusterType, createXdsServer, endpointType, listenerType, routeType, staticSource } from "@istiod/xds-server";
import { EnvoyClient, fakeListener, fakeEdsCluster, fakeResource, type Refusal } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { variants, type Variant } from "./harness.js";

/** Contents that begin with `!` are invalid, those with `?` cannot be decoded. */
const content = fc.constantFrom("1", "2", "3", "!1", "!2", "?1");
const names = ["a", "b", "c", "d"];
const some = fc.dictionary(fc.constantFrom(...names), content, { noNullPrototype: true });
const sets = fc.record({ clusters: some, listeners: some, routes: some });
type Sets = typeof sets extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const types = { clusters: clusterType, listeners: listenerType, routes: routeType } as const;

const resourcesOf = ({ clusters, listeners, routes }: Sets) => ({
  [clusterType]: ResourceSet.of(Object.entries(clusters).map(([name, text]) => fakeEdsCluster(name, text))),
  [endpointType]: ResourceSet.of(names.map((name) => fakeResource(name))),
  [listenerType]: ResourceSet.of(Object.entries(listeners).map(([name, text]) => fakeListener(name, text, names))),
  [routeType]: ResourceSet.of(Object.entries(routes).map(([name, text]) => fakeResource(name, text))),
});

/** The content of a fake resource is the end of its bytes. */
const contentIn = (bytes: Uint8Array): string => /[!?]?\d$/.exec(Buffer.from(bytes).toString("latin1"))?.[0] ?? "";

function refuse(typeUrl: string, { bytes }: { readonly bytes: Uint8Array }): Refusal | undefined {
  const text = typeUrl === endpointType ? "" : contentIn(bytes);
  if (text.startsWith("?")) return { reason: "no value", isUndecodable: true };
  return text.startsWith("!") ? { reason: "no such thing" } : undefined;
}

const step = fc.record({
  to: sets,
  turns: fc.nat(6),
  then: fc.constantFrom("nothing", "reconnect", "pause", "resume", "rest", "restart"),
});

class Run {
  readonly clock = new FakeClock();
  readonly source = staticSource();
  readonly envoy: EnvoyClient;
  #server = this.#start();
  /** Contents of the proxy's resources when it was last at rest. */
  #held: Record<string, Record<string, string>> = {};

  constructor(variant: Variant, begin: Sets, seed: number) {
    this.source.set(resourcesOf(begin));
    let state = seed;
    const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
    this.envoy = new EnvoyClient(this.#server, { variant, refuse, random });
  }

  #start() {
    return createXdsServer(this.source, { clock: this.clock, random: () => 0.5 });
  }

  async restart(): Promise<void> {
    const before = this.#server;
    this.#server = this.#start();
    this.envoy.reconnect(this.#server);
    await before.close({ graceMs: 0 });
  }

  async rest(sets: Sets): Promise<void> {
    this.envoy.xds.pause(false);
    for (let i = 0; i < 6; i++) {
      await this.envoy.settled();
      this.clock.advance(700_000);
    }
    await this.envoy.settled();
    for (const [key, typeUrl] of Object.entries(types)) this.#check(typeUrl, sets[key as keyof Sets]);
    expect([...this.envoy.warming]).toEqual([]);
  }

  /** Returns the contents of the proxy's resources. */
  held(typeUrl: string): Record<string, string> {
    const resources = [...this.envoy.resources(typeUrl).values()];
    return Object.fromEntries(resources.map(({ name, bytes }) => [name, contentIn(bytes)]));
  }

  #check(typeUrl: string, wanted: Readonly<Record<string, string>>): void {
    const held = this.held(typeUrl);
    const before = this.#held[typeUrl] ?? {};
    this.#held[typeUrl] = held;
    const context = `${typeUrl}: wanted ${JSON.stringify(wanted)}, held ${JSON.stringify(held)} before ${JSON.stringify(before)}`;
    // State-of-the-world clients do not learn of removed routes.
    if (typeUrl !== routeType || this.envoy.variant === "delta")
      for (const name of Object.keys(held)) expect(Object.keys(wanted), context).toContain(name);
    const isSubscribed = typeUrl !== routeType || this.envoy.resources(listenerType).size > 0;
    for (const [name, text] of Object.entries(isSubscribed ? wanted : {})) {
      const isGood = /^\d/.test(text);
      if (isGood) expect(held[name], context).toBe(text);
      else if (name in held) expect(held[name], context).toMatch(/^\d/);
    }
  }

  async close(): Promise<void> {
    this.envoy.close();
    await this.#server.close({ graceMs: 0 });
  }
}

const only = (listeners: Sets["listeners"]): Sets => ({ clusters: {}, listeners, routes: {} });
const clusters = (some: Sets["clusters"]): Sets => ({ clusters: some, listeners: {}, routes: {} });

/** Number of random sequences, and the seed of a run that is to be repeated. */
const cases = Number(process.env["REJECTION_CASES"] ?? 60);
const seed = process.env["REJECTION_SEED"];

/** Sequences that the law did not hold for once. */
const examples: readonly (readonly [begin: Sets, steps: readonly Step[]])[] = [
  [
    only({}),
    [
      { to: only({ b: "!1", a: "1" }), turns: 4, then: "pause" },
      { to: only({ c: "?1" }), turns: 2, then: "nothing" },
    ],
  ],
  [
    only({}),
    [
      { to: only({ c: "1", a: "!2" }), turns: 2, then: "nothing" },
      { to: only({ c: "!1" }), turns: 1, then: "pause" },
      { to: only({}), turns: 1, then: "restart" },
    ],
  ],
  [
    clusters({ a: "3" }),
    [
      { to: clusters({ b: "!1" }), turns: 6, then: "nothing" },
      { to: clusters({ a: "!2" }), turns: 0, then: "pause" },
      { to: clusters({ a: "3" }), turns: 0, then: "restart" },
    ],
  ],
  [
    clusters({ b: "?1" }),
    [
      { to: clusters({}), turns: 3, then: "nothing" },
      { to: clusters({ b: "1", a: "!2" }), turns: 3, then: "pause" },
      { to: clusters({ b: "!1" }), turns: 2, then: "nothing" },
      { to: clusters({}), turns: 0, then: "restart" },
    ],
  ],
  [
    clusters({ c: "1", a: "!1", d: "?1" }),
    [
      { to: clusters({ c: "!1" }), turns: 3, then: "pause" },
      { to: clusters({ c: "!2" }), turns: 2, then: "nothing" },
      { to: clusters({}), turns: 0, then: "restart" },
    ],
  ],
  [
    only({ b: "?1", a: "!1", c: "3" }),
    [
      { to: only({ a: "!2", c: "1" }), turns: 6, then: "nothing" },
      { to: only({ c: "?1" }), turns: 1, then: "pause" },
      { to: only({ c: "3" }), turns: 1, then: "restart" },
    ],
  ],
  [
    clusters({ b: "?1", d: "!1", a: "2" }),
    [{ to: clusters({ d: "?1", a: "1", b: "1", c: "?1" }), turns: 2, then: "nothing" }],
  ],
  [
    clusters({}),
    [
      { to: clusters({ c: "3", a: "!1" }), turns: 0, then: "nothing" },
      { to: clusters({ a: "?1" }), turns: 3, then: "reconnect" },
      { to: clusters({ c: "1" }), turns: 2, then: "reconnect" },
    ],
  ],
  [
    clusters({}),
    [
      { to: clusters({ a: "1", d: "!1" }), turns: 2, then: "nothing" },
      { to: clusters({}), turns: 2, then: "reconnect" },
      { to: clusters({}), turns: 1, then: "reconnect" },
    ],
  ],
  [
    only({}),
    [
      { to: only({ a: "1" }), turns: 2, then: "nothing" },
      { to: { clusters: {}, listeners: { b: "?1" }, routes: { a: "1" } }, turns: 1, then: "nothing" },
      { to: { clusters: {}, listeners: { a: "1" }, routes: { a: "1", c: "1" } }, turns: 1, then: "nothing" },
    ],
  ],
];

test.each(variants)(
  "law: at rest a %s proxy has exactly the resources that it accepts, whatever it rejected before",
  { timeout: 120_000 + cases * 1000 },
  async (variant) => {
    await fc.assert(
      fc.asyncProperty(sets, fc.array(step, { maxLength: 8 }), fc.nat(), async (begin, steps, chance) => {
        const run = new Run(variant, begin, chance);
        let last = begin;
        for (const { to, turns, then } of steps) {
          for (let i = 0; i < turns; i++) await new Promise(setImmediate);
          if (then === "restart") await run.rest(last);
          run.source.set(resourcesOf((last = to)));
          if (then === "reconnect") run.envoy.reconnect();
          else if (then === "restart") await run.restart();
          else if (then === "rest") await run.rest(last);
          else if (then !== "nothing") run.envoy.xds.pause(then === "pause");
        }
        await run.rest(last);
        await run.close();
      }),
      {
        ...(seed !== undefined && { seed: Number(seed) }),
        numRuns: cases,
        examples: examples.map(([begin, steps]) => [begin, [...steps], 0]),
      },
    );
  },
);

const moment = fc.record({
  to: fc.record({ clusters: some, listeners: some }),
  before: fc.constantFrom("nothing", "reconnect", "restart"),
});

test.each(variants)(
  "law: a %s proxy keeps the last version that it accepted, also if the server forgets it",
  { timeout: 120_000 + cases * 1000 },
  async (variant) => {
    await fc.assert(
      fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 6 }), fc.nat(), async (moments, chance) => {
        const run = new Run(variant, { clusters: {}, listeners: {}, routes: {} }, chance);
        await run.rest({ clusters: {}, listeners: {}, routes: {} });
        const kept: Record<"clusters" | "listeners", Record<string, string>> = { clusters: {}, listeners: {} };
        for (const { to, before } of moments) {
          run.source.set(resourcesOf({ ...to, routes: {} }));
          if (before === "reconnect") run.envoy.reconnect();
          if (before === "restart") await run.restart();
          await run.rest({ ...to, routes: {} });
          for (const of of ["clusters", "listeners"] as const) {
            const held = run.held(types[of]);
            for (const name of names) {
              const text = to[of][name];
              if (text === undefined) delete kept[of][name];
              else if (/^\d/.test(text)) kept[of][name] = text;
              // A full state leaves out a version that cannot be decoded, and nothing can stand in its place.
              else if (text.startsWith("?") && variant === "sotw" && held[name] === undefined) delete kept[of][name];
            }
            expect(held, of).toEqual(kept[of]);
          }
        }
        await run.close();
      }),
      { ...(seed !== undefined && { seed: Number(seed) }), numRuns: cases },
    );
  },
);

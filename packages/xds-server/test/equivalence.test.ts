import { ResourceSet } from "@istiod/resources";
import { clusterType, endpointType, staticSource, createXdsServer } from "@istiod/xds-server";
import { EnvoyClient, fakeEdsCluster, fakeResource } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { variants } from "./harness.js";

const names = ["a", "b", "c", "d", "e"];
const sets = fc.record({
  clusters: fc.dictionary(fc.constantFrom(...names), fc.constantFrom("1", "2", "3")),
  endpoints: fc.dictionary(fc.constantFrom(...names), fc.constantFrom("1", "2", "3")),
});
type Sets = typeof sets extends fc.Arbitrary<infer T> ? T : never;

const resources = ({ clusters, endpoints }: Sets) => ({
  // Parts that stay the same from one state to the next are the usual case.
  [clusterType]: ResourceSet.union(Object.entries(clusters).map(([name, text]) => part(name, text))),
  [endpointType]: ResourceSet.of(Object.entries(endpoints).map(([name, text]) => fakeResource(name, text))),
});
const parts = new Map<string, ResourceSet>();
const part = (name: string, text: string): ResourceSet => {
  const key = name + text;
  let found = parts.get(key);
  if (found === undefined) parts.set(key, (found = ResourceSet.of([fakeEdsCluster(name, text)])));
  return found;
};

const edit = fc.record({
  to: sets,
  /** Event loop turns before the next edit, so that edits come in the middle of responses. */
  turns: fc.nat(8),
  then: fc.constantFrom("nothing", "pause", "resume", "reconnect"),
});

test(
  "law: whatever happens, a proxy ends up with what the source has, with every cluster warm, in both variants",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(sets, fc.array(edit, { maxLength: 10 }), async (begin, edits) => {
        const source = staticSource(resources(begin));
        const server = createXdsServer(source);
        const envoys = variants.map((variant) => new EnvoyClient(server, { variant }));
        let last = begin;
        for (const { to, turns, then } of edits) {
          for (let i = 0; i < turns; i++) await new Promise(setImmediate);
          source.set(resources((last = to)));
          for (const envoy of envoys) {
            if (then === "reconnect") envoy.reconnect();
            else if (then !== "nothing") envoy.xds.pause(then === "pause");
          }
        }
        for (const envoy of envoys) {
          envoy.xds.pause(false);
          await envoy.settled();
          const expected = resources(last);
          const clusters = [...expected[clusterType]];
          expect(state(envoy, clusterType)).toEqual(
            Object.fromEntries(clusters.map((r) => [r.name, Buffer.from(r.bytes).toString()])),
          );
          const endpoints = [...expected[endpointType]].filter(({ name }) =>
            clusters.some((cluster) => cluster.name === name),
          );
          const held = state(envoy, endpointType);
          for (const { name, bytes } of endpoints) expect(held[name]).toBe(Buffer.from(bytes).toString());
          // State-of-the-world clients do not learn of removed endpoints.
          const without = clusters.map(({ name }) => name).filter((name) => !expected[endpointType].has(name));
          if (envoy.variant === "delta") {
            expect(Object.keys(held).sort()).toEqual(endpoints.map(({ name }) => name).sort());
            expect([...envoy.warming]).toEqual([]);
          } else for (const name of envoy.warming) expect(without).toContain(name);
          envoy.close();
        }
        await server.close({ graceMs: 0 });
      }),
      { numRuns: 150 },
    );
  },
);

function state(envoy: EnvoyClient, typeUrl: string): Record<string, string> {
  return Object.fromEntries(
    [...envoy.resources(typeUrl).values()].map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]),
  );
}

import { encodeFrame } from "@istiod/protobuf-wire";
import { hash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { resource, resourceOfParts, type ResourcePart, resourcePart, ResourceSet } from "@istiod/resources";
import { clusterType } from "@istiod/xds-server";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { BodyCache } from "../src/wire/body-cache.js";
import { encodeResponseHead } from "../src/wire/response-head.js";
import { complete, sliceNames } from "../src/sliced.js";
import { decodeRequest, requestOf } from "../src/wire/request.js";
import { Chunker } from "../src/wire/chunker.js";
import { namesDigest, versionsDigest } from "../src/protocol/set-digest.js";
import { FakeClock } from "@istiod/runtime/testing";
import { readMessages } from "./read-messages.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const text = fc
  .oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ maxLength: 20 }))
  .filter((s) => Buffer.from(s).toString() === s);
const resources = fc
  .array(
    fc.tuple(
      text,
      fc.oneof(
        fc.uint8Array({ maxLength: 400 }),
        fc.constantFrom(new Uint8Array(40_000).fill(7), new Uint8Array(40_001).fill(8)),
      ),
    ),
    {
      maxLength: 30,
    },
  )
  .map((list) => [
    ...ResourceSet.of(
      list.map(([name, bytes]) =>
        bytes.length % 2 === 0
          ? resource(name, bytes)
          : resourceOfParts(name, [resourcePart(bytes.subarray(0, 9)), resourcePart(bytes.subarray(9))]),
      ),
    ),
  ]);

const digest = (bytes: Uint8Array): string => hash("sha256", bytes);

describe("a response", () => {
  it("law: equals the message that protobuf encodes, in either variant", () => {
    fc.assert(
      fc.property(resources, fc.array(text), text, text, (list, removed, nonce, version) => {
        for (const variant of ["delta", "sotw"] as const) {
          const content = { resources: list, removed: variant === "delta" ? removed : [] };
          const bodies = complete(new BodyCache().encode(variant, clusterType, content));
          const message = Buffer.concat([
            encodeResponseHead(clusterType, nonce, version),
            ...bodies.flatMap(({ pieces }) => pieces),
          ]);
          const values = list.map(({ bytes }) => digest(bytes));
          if (variant === "delta") {
            const { resources, ...response } = fromBinary(DeltaDiscoveryResponseSchema, message);
            expect(response).toMatchObject({
              typeUrl: clusterType,
              nonce,
              systemVersionInfo: version,
              removedResources: removed,
            });
            expect(resources.map(({ name, version }) => [name, version])).toEqual(
              list.map(({ name, version }) => [name, version]),
            );
            expect(resources.map(({ resource }) => digest(resource?.value ?? new Uint8Array()))).toEqual(values);
            for (const { resource } of resources) expect(resource?.typeUrl).toBe(clusterType);
          } else {
            const response = fromBinary(DiscoveryResponseSchema, message);
            expect(response).toMatchObject({ typeUrl: clusterType, nonce, versionInfo: version });
            expect(response.resources.map(({ value }) => digest(value))).toEqual(values);
            for (const { typeUrl } of response.resources) expect(typeUrl).toBe(clusterType);
          }
          expect(bodies.reduce((sum, { length }) => sum + length, 0)).toBe(
            bodies.flatMap(({ pieces }) => pieces).reduce((sum, { length }) => sum + length, 0),
          );
        }
      }),
    );
  });
});

describe("a body", () => {
  const large = (name: string, fill: number, size = 20_000) => resource(name, Buffer.alloc(size, fill));
  const pieces = (cache: BodyCache, ...selection: Parameters<BodyCache["encode"]>) =>
    complete(cache.encode(...selection)).flatMap((body) => body.pieces);

  it("is encoded once for a part that several sets share", () => {
    const cache = new BodyCache();
    const shared = ResourceSet.of([large("a", 1), large("b", 2)]);
    const [one, two] = ["x", "y"].map((name) => ResourceSet.union([shared, ResourceSet.of([large(name, 3)])])) as [
      ResourceSet,
      ResourceSet,
    ];
    const first = pieces(cache, "delta", clusterType, { resources: [...one], removed: [], whole: one });
    const second = pieces(cache, "delta", clusterType, { resources: [...two], removed: [], whole: two });
    expect(second[0]).toBe(first[0]);
    expect(second[1]).not.toBe(first[1]);
  });

  it("shares the chunks that long lists have in common, despite insertions and different ends", () => {
    const cache = new BodyCache();
    const list = Array.from({ length: 2000 }, (_, i) => large(`r${i}`, i % 256, 1000));
    const other = [...list.slice(0, 500), large("new", 1, 1000), ...list.slice(500), large("own", 2, 1000)];
    const first = new Set(pieces(cache, "delta", clusterType, { resources: list, removed: [] }));
    const second = pieces(cache, "delta", clusterType, { resources: other, removed: [] });
    expect(second.length).toBeLessThan(60);
    const again = second.filter((piece) => !first.has(piece)).reduce((sum, { length }) => sum + length, 0);
    expect(again).toBeLessThan(400_000);
  });

  it("is encoded once for equal selections, even in different arrays", () => {
    const cache = new BodyCache();
    const list = [large("a", 1), large("b", 2)];
    const first = pieces(cache, "sotw", clusterType, { resources: [...list], removed: [] });
    expect(pieces(cache, "sotw", clusterType, { resources: [...list], removed: [] })[0]).toBe(first[0]);
    expect(pieces(cache, "delta", clusterType, { resources: [...list], removed: [] })[0]).not.toBe(first[0]);
    expect(pieces(cache, "sotw", clusterType, { resources: [...list].reverse(), removed: [] })[0]).not.toBe(first[0]);
  });

  it("is kept for some time after last use, within a limit for the oldest", () => {
    const clock = new FakeClock();
    const cache = new BodyCache({ bytes: 100_000, ms: 1000, clock });
    const kept = (...names: string[]) => {
      for (const name of names) pieces(cache, "delta", clusterType, { resources: [large(name, 1)], removed: [] });
      return Math.round(cache.keptBytes / 20_000);
    };
    expect(kept("a", "b")).toBe(2);
    clock.advance(600);
    expect(kept("a")).toBe(2);
    clock.advance(500);
    expect(kept()).toBe(1);
    clock.advance(499);
    expect(kept()).toBe(1);
    clock.advance(1);
    expect([kept(), cache.keptBytes]).toEqual([0, 0]);
    expect(kept(..."abcdefghijklmnop")).toBe(4);
    clock.advance(1000);
    expect(cache.keptBytes).toBe(0);
  });

  it("leaves no state when its resources are garbage-collected", async () => {
    const chunker = new Chunker();
    const held = Array.from({ length: 500 }, (_, i) => large(`held-${i}`, i % 250, 10));
    const keyOfHeld = complete(chunker.split(held)).map(({ key }) => key);
    for (let round = 0; round < 5; round++) {
      complete(chunker.split(Array.from({ length: 3000 }, (_, i) => resource(`r${i}`, Buffer.from(`${round} ${i}`)))));
      await turn();
      collectGarbage();
    }
    expect(chunker.size).toBeLessThan(7000);
    const equal = held.map(({ name, bytes }) => resource(name, bytes));
    expect(complete(chunker.split(equal)).map(({ key }) => key)).toEqual(keyOfHeld);
  });

  it("looks at a bounded number of known resources at a time", () => {
    const chunker = new Chunker();
    const list = Array.from({ length: 16 * sliceNames }, (_, i) => resource(`r${i}`, Buffer.from(String(i))));
    const deref = vi.spyOn(WeakRef.prototype, "deref");
    try {
      let largest = 0;
      const splitting = chunker.split(list);
      for (let done = false; done !== true;) {
        deref.mockClear();
        done = splitting.next().done === true;
        largest = Math.max(largest, deref.mock.calls.length);
      }
      expect(largest).toBeGreaterThan(sliceNames);
      expect(largest).toBeLessThanOrEqual(3 * sliceNames);
    } finally {
      deref.mockRestore();
    }
  });

  it("references large resources instead of copying them", () => {
    const big = large("big", 1, 1_000_000);
    expect(pieces(new BodyCache(), "delta", clusterType, { resources: [big], removed: [] })).toContain(big.bytes);
  });

  it("copies what has changed of a large resource of parts, and references the rest", () => {
    const parts = Array.from({ length: 100 }, (_, i) => resourcePart([Buffer.alloc(2_000, i), Buffer.alloc(500, i)]));
    const bodyOf = (of: readonly ResourcePart[]): readonly Uint8Array[] =>
      pieces(new BodyCache(), "delta", clusterType, { resources: [resourceOfParts("r", of)], removed: [] });
    const before = bodyOf(parts);
    const after = bodyOf(parts.with(50, resourcePart(Buffer.alloc(1_000, 255))));
    const copied = after.filter((piece) => !before.includes(piece)).reduce((sum, { length }) => sum + length, 0);
    expect(copied).toBeLessThan(128 * 1024);
    expect(Buffer.concat(after).length).toBe(Buffer.concat(before).length - 1_500);
  });
});

describe("a request", () => {
  const pairs = fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 20 });
  const request = fc.record({
    typeUrl: text,
    responseNonce: text,
    names: fc.array(text),
    unsubscribe: fc.array(text),
    versions: pairs.map((list) => Object.fromEntries(list.filter(([name]) => name !== "__proto__"))),
    error: fc.option(fc.record({ code: fc.nat(16), message: text }), { nil: undefined }),
    node: fc.option(text, { nil: undefined }),
  });

  it("law: is decoded as by protobuf, in either variant", () => {
    fc.assert(
      fc.property(request, ({ names, unsubscribe, versions, error, node, ...common }) => {
        const shared = {
          ...common,
          ...(node !== undefined && { node: { id: node } }),
          ...(error && { errorDetail: error }),
        };
        const delta = create(DeltaDiscoveryRequestSchema, {
          ...shared,
          resourceNamesSubscribe: names,
          resourceNamesUnsubscribe: unsubscribe,
          initialResourceVersions: versions,
        });
        const sotw = create(DiscoveryRequestSchema, { ...shared, resourceNames: names, versionInfo: "ignored" });
        for (const [variant, message, bytes] of [
          ["delta", delta, toBinary(DeltaDiscoveryRequestSchema, delta)],
          ["sotw", sotw, toBinary(DiscoveryRequestSchema, sotw)],
        ] as const) {
          const decoded = complete(decodeRequest(variant, Buffer.from(bytes)));
          const expected = requestOf(message);
          expect(decoded.node?.id).toBe(expected.node?.id);
          expect(decoded).toMatchObject({ typeUrl: common.typeUrl, responseNonce: common.responseNonce });
          expect(decoded.errorDetail?.code).toBe(error?.code);
          expect(decoded.errorDetail?.message).toBe(error?.message);
          for (const list of ["names", "unsubscribe", "initialVersions"] as const) {
            expect([...decoded[list]].sort()).toEqual([...expected[list]].sort());
            expect(decoded[list].size).toBe(expected[list].size);
            expect(decoded[list].digest.equals(expected[list].digest)).toBe(true);
          }
        }
      }),
    );
  });

  it("law: arbitrary bytes are a request or a WireError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        for (const variant of ["delta", "sotw"] as const) {
          try {
            const { names, unsubscribe, initialVersions } = complete(decodeRequest(variant, Buffer.from(bytes)));
            void [...names, ...unsubscribe, ...initialVersions];
          } catch (error) {
            // A node is decoded by protobuf, which has errors of its own.
            expect(error).toBeInstanceOf(Error);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("law: its lists have the digest of a set exactly if they list the set's resources, in any order", () => {
    const small = fc.uniqueArray(
      fc.tuple(fc.constantFrom("a", "b", "c", "ab", "ba", "", "aaaa", "aaab"), fc.constantFrom("1", "2", "11")),
      { selector: ([n]) => n },
    );
    fc.assert(
      fc.property(small, small, (has, listed) => {
        const set = ResourceSet.of(has.map(([name, version]) => ({ name, version, bytes: new Uint8Array() })));
        const split = ResourceSet.union([...set].map((r) => ResourceSet.of([r])));
        const message = create(DeltaDiscoveryRequestSchema, {
          resourceNamesSubscribe: listed.map(([name]) => name),
          initialResourceVersions: Object.fromEntries(listed),
        });
        const { names, initialVersions } = complete(
          decodeRequest("delta", Buffer.from(toBinary(DeltaDiscoveryRequestSchema, message))),
        );
        const sameNames = new Set(has.map(([n]) => n)).size === listed.length && listed.every(([n]) => set.has(n));
        const same = sameNames && listed.every(([n, v]) => set.get(n)?.version === v);
        for (const s of [set, split]) {
          expect(names.digest.equals(namesDigest(s))).toBe(sameNames);
          expect(initialVersions.digest.equals(versionsDigest(s))).toBe(same);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("gRPC framing", () => {
  it("law: messages are read back, in whatever chunks they come", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 50 })),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        async (messages, cuts) => {
          const bytes = Buffer.concat(messages.map((message) => encodeFrame(message)));
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const size = cuts[i % cuts.length] ?? 1;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          const read = await readMessages(chunks, 100, undefined, (message) =>
            message.length % 2 === 0 ? undefined : Promise.resolve(),
          );
          expect(read.map((b) => b.toString("hex"))).toEqual(messages.map((m) => Buffer.from(m).toString("hex")));
        },
      ),
    );
  });

  it.each([
    ["a message over the limit", encodeFrame(new Uint8Array(101), 101), 8],
    ["a compressed message", Buffer.from([1, 0, 0, 0, 0]), 12],
    ["a message that is cut off", Buffer.from([0, 0, 0, 0, 9, 1]), 3],
  ])("refuses %s", async (_name, bytes, code) => {
    await expect(readMessages([bytes], 100)).rejects.toMatchObject({ code });
  });
});

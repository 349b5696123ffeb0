import { WireError } from "@istiod/protobuf-wire";
import { create, fromBinary, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeNode } from "../src/wire/node.js";

type Parts = MessageInitShape<typeof NodeSchema>;

const encoded = (parts: Parts): Uint8Array => toBinary(NodeSchema, create(NodeSchema, parts));
const decoded = (bytes: Uint8Array) =>
  decodeNode(Buffer.concat([Buffer.of(1, 2, 3), bytes, Buffer.of(4)]), 3, 3 + bytes.length);

const text = fc.string({ unit: "grapheme", maxLength: 12 }).filter((s) => Buffer.from(s).toString() === s);
const struct = fc.dictionary(
  fc.oneof(text, fc.constant("__proto__")),
  fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<never>,
  { maxKeys: 8 },
);
const parts: fc.Arbitrary<Parts> = fc.oneof(
  fc.record({ id: text, cluster: text }),
  fc.record({ metadata: struct }),
  fc.record({ locality: fc.record({ region: text, zone: text, subZone: text }) }),
  fc.record({ userAgentName: text, clientFeatures: fc.array(text) }),
  fc.record({ extensions: fc.array(fc.record({ name: text, typeUrls: fc.array(text) }), { maxLength: 3 }) }),
);

test("law: a node is decoded as by protobuf, with fields in any order", () => {
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 6 }), (list) => {
      const bytes = Buffer.concat(list.map(encoded));
      const node = decoded(bytes);
      expect(node).toEqual(fromBinary(NodeSchema, bytes));
      expect(fromBinary(NodeSchema, toBinary(NodeSchema, node))).toEqual(node);
    }),
    { numRuns: 300 },
  );
});

test("a metadata key that is special in JavaScript is an ordinary key", () => {
  const { metadata } = decoded(encoded({ metadata: JSON.parse('{"__proto__": {"polluted": true}}') as never }));
  expect(Object.keys(metadata ?? {})).toEqual(["__proto__"]);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("proxies of one build share the fields that they have in common", () => {
  const build: Parts = {
    userAgentName: "envoy",
    extensions: Array.from({ length: 400 }, (_, i) => ({
      name: `envoy.filters.http.f${i}`,
      category: "envoy.filters.http",
    })),
  };
  const [one, two] = ["a", "b"].map((id) => decoded(encoded({ ...build, id, cluster: id, metadata: { NAME: id } })));
  expect(one?.id).toBe("a");
  expect(two?.metadata).toEqual({ NAME: "b" });
  expect(two?.extensions.length).toBe(400);
  expect(two?.extensions).toBe(one?.extensions);
  expect(decoded(encoded({ id: "c" })).extensions).toEqual([]);
});

test("shared fields of nodes are limited to two megabytes", () => {
  const heavy = (id: number) =>
    decoded(encoded({ userAgentName: `${id}`.padEnd(500_000, "x"), extensions: [{ name: "a" }] }));
  const first = heavy(1);
  for (const id of [1, 2, 3, 4]) heavy(id);
  expect(heavy(1).extensions).toBe(first.extensions);
  heavy(5);
  expect(heavy(1).extensions).not.toBe(first.extensions);
});

test("unknown fields of a node are dropped", () => {
  const bytes = Buffer.concat([encoded({ id: "a" }), Buffer.from([0xf2, 0x3f, 1, 65])]);
  const node = decodeNode(bytes, 0, bytes.length);
  expect(node.id).toBe("a");
  expect(node.$unknown).toBeUndefined();
});

const nested = (depth: number): JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) });
const named = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, ""]));

test.each<[string, Parts, string]>([
  ["an ID of 1,025 bytes", { id: "x".repeat(1025) }, "an ID or cluster of more than 1024 bytes"],
  ["a cluster of 1,025 bytes", { cluster: "x".repeat(1025) }, "an ID or cluster of more than 1024 bytes"],
  ["a label of 600 KB", { metadata: { LABELS: { a: "x".repeat(600_000) } } }, "metadata of more than 524288 bytes"],
  ["20,000 labels", { metadata: { LABELS: named(20_000) } }, "metadata of too many values"],
  ["5,000 keys", { metadata: named(5000) }, "metadata of too many values"],
  ["a list of 5,000 values", { metadata: { A: Array(5000).fill(null) } }, "metadata of too many values"],
  ["metadata in 40 levels", { metadata: nested(40) }, "metadata nested too deeply"],
  ["5,000 extensions", { extensions: Array(5000).fill({}) }, "extensions and other fields of more than 4096 fields"],
  ["an extension of 600 KB", { extensions: [{ name: "x".repeat(600_000) }] }, "more than 524288 bytes"],
])("a node with %s is rejected", (_what, node, message) => {
  expect(() => decoded(encoded(node))).toThrow(message);
});

test("a node with 1,000 labels, annotations of 256 KiB and 1,000 extensions is accepted", () => {
  const metadata = { LABELS: named(1000), ANNOTATIONS: { "large.io/config": "x".repeat(256 * 1024) } };
  const extensions = Array.from({ length: 1000 }, (_, i) => ({ name: `envoy.filters.http.f${i}`, typeUrls: ["t"] }));
  const node = decoded(encoded({ id: "a", metadata, extensions }));
  expect(node.metadata).toEqual(metadata);
  expect(node.extensions.length).toBe(1000);
});

test.each([
  ["within a field", [0x0a, 5, 65]],
  ["within a value of the metadata", [0x1a, 4, 0x0a, 2, 0x12, 9]],
  ["within a number of the metadata", [0x1a, 6, 0x0a, 4, 0x12, 2, 0x11, 0]],
])("bytes that end %s are no node", (_where, bytes) => {
  expect(() => decodeNode(Buffer.from(bytes), 0, bytes.length)).toThrow(WireError);
});

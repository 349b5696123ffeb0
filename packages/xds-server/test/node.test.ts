import { WireError } from "@istiod/protobuf-wire";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
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
  const heavy = (id: number, bytes: number) =>
    decoded(encoded({ userAgentName: `${id}`.padEnd(bytes, "x"), extensions: [{ name: "a" }] }));
  const megabyte = 1000 * 1000;
  const first = heavy(1, megabyte);
  expect(heavy(1, megabyte).extensions).toBe(first.extensions);
  heavy(2, megabyte);
  expect(heavy(1, megabyte).extensions).toBe(first.extensions);
  heavy(3, megabyte);
  expect(heavy(1, megabyte).extensions).not.toBe(first.extensions);
  expect(heavy(4, 3 * megabyte).extensions).not.toBe(heavy(4, 3 * megabyte).extensions);
});

test("unknown fields of a node are kept, without referencing the request's bytes", () => {
  const bytes = Buffer.concat([encoded({ id: "a" }), Buffer.from([0xf2, 0x3f, 1, 65])]);
  const node = decodeNode(bytes, 0, bytes.length);
  bytes.fill(0);
  expect(node.$unknown?.map(({ no }) => no)).toEqual([1022]);
  expect(Buffer.from(toBinary(NodeSchema, node)).subarray(-2).toString("hex")).toBe("0141");
});

test.each([
  ["within a field", [0x0a, 5, 65]],
  ["within a value of the metadata", [0x1a, 4, 0x0a, 2, 0x12, 9]],
  ["within a number of the metadata", [0x1a, 6, 0x0a, 4, 0x12, 2, 0x11, 0]],
])("bytes that end %s are no node", (_where, bytes) => {
  expect(() => decodeNode(Buffer.from(bytes), 0, bytes.length)).toThrow(WireError);
});

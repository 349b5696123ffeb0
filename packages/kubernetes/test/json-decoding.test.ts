import fc from "fast-check";
import { expect, test } from "vitest";
import { compileFields } from "../src/decoding/field-matcher.js";
import { JsonListDecoder } from "../src/decoding/json-list.js";
import { JsonReader } from "../src/decoding/json-reader.js";
import { JsonWatchDecoder } from "../src/decoding/json-watch.js";

const metadata = { name: "a", namespace: "b", uid: "c", resourceVersion: "1" };

function read(text: string): unknown {
  const reader = new JsonReader();
  // White space ends a number at the top level.
  reader.reset(Buffer.from(`${text} `));
  const value = reader.value(undefined);
  if (!reader.isAtEnd) reader.fail("data after the value");
  return value;
}

function decodeList(text: string, cuts: readonly number[]): unknown {
  const bytes = Buffer.from(text);
  const decoder = new JsonListDecoder(true);
  const objects: unknown[] = [];
  const ends = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
  [...ends, bytes.length].reduce((from, to) => {
    objects.push(...decoder.push(bytes.subarray(from, to)).map(({ object }) => object));
    return to;
  }, 0);
  const last = decoder.end();
  return { objects: [...objects, ...last.objects.map(({ object }) => object)], metadata: last.metadata };
}

test("every JSON value is read as by JSON.parse", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5, stringUnit: "binary" }), (text) => {
      expect(read(text)).toEqual(JSON.parse(text));
    }),
  );
});

test.each([
  '{"a":1,"b":2,"a":[3]}',
  '{"__proto__":{"polluted":true},"constructor":1}',
  '"\\ud83d\\ude00 \\ud800 \\u0000 \\/"',
  "[-0, 1e400, -1.5E-7, 12345678901234567890, 0.1]",
  ' { "a" : [ ] , "b" : { } } ',
  '"ä€😀"',
])("%s is read as by JSON.parse", (text) => {
  expect(read(text)).toEqual(JSON.parse(text));
  expect(JSON.stringify(read(text))).toBe(JSON.stringify(JSON.parse(text)));
});

test.each([
  "[1,]",
  '{"a":1,}',
  "[01]",
  "[1.]",
  "[+1]",
  "[.5]",
  "[nul]",
  '["\\x"]',
  '["\u0001"]',
  "{a:1}",
  "[1 2]",
  "]",
])("%s is rejected as by JSON.parse", (text) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(() => read(`${text}  `)).toThrow("invalid JSON");
});

test("a list is decoded alike however its bytes are divided", () => {
  const item = fc.dictionary(
    fc.string({ unit: "binary" }).filter((key) => !reserved.has(key)),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      fc.boolean(),
      (items, cuts, isLast) => {
        const objects = items.map((fields) => ({ ...(JSON.parse(JSON.stringify(fields)) as object), metadata }));
        const list = { metadata: { resourceVersion: "7", continue: isLast ? "" : "next" } };
        const text = JSON.stringify(
          isLast ? { ...list, items: objects } : { items: objects, kind: "PodList", ...list },
        );
        expect(decodeList(text, cuts)).toEqual({ objects, metadata: list.metadata });
        expect(() => decodeList(text.slice(0, -1), cuts)).toThrow("the list ended early");
      },
    ),
  );
});
const reserved = new Set(["metadata", "apiVersion", "kind"]);

test("only the fields of the projection are decoded, in arrays as well", () => {
  const reader = new JsonReader();
  reader.reset(
    Buffer.from(
      '{"a":{"x":1,"y":{"z":"}\\"]"}},"b":[{"x":1,"y":2},null,{"y":3}],"c":[[{"deep":"\\\\"}]],"\\u0061b":4}',
    ),
  );
  expect(reader.value(compileFields({ a: { x: true }, b: { y: true }, ab: true }))).toEqual({
    a: { x: 1 },
    b: [{ y: 2 }, null, { y: 3 }],
    ab: 4,
  });
});

test("errors name the path, and depth is bounded", () => {
  expect(() => read('{"spec":{"ports":[{"port":1},{"port":x}]}}')).toThrow(
    "invalid JSON at spec.ports[1].port: unexpected character",
  );
  expect(() => read("[".repeat(1000))).toThrow("nested deeper than 256 levels");
});

test("messages of a watch are decoded alike however their bytes are divided, and in any order of fields", () => {
  const text = [
    JSON.stringify({ type: "ADDED", object: { kind: "Pod", metadata, spec: { nodeName: "é" } } }),
    JSON.stringify({ object: { metadata, spec: { nodeName: "m" }, status: {} }, type: "MODIFIED" }),
    JSON.stringify({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } } },
    }),
    JSON.stringify({ type: "ERROR", object: { code: 410, reason: "Expired" } }),
  ].join("\n");
  const bytes = Buffer.from(`${text}\n`);
  for (let cut = 0; cut < bytes.length; cut++) {
    const decoder = new JsonWatchDecoder({ spec: true });
    const messages = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut)), ...decoder.end()];
    expect(messages).toEqual([
      {
        type: "ADDED",
        object: { ...identity, object: { metadata, spec: { nodeName: "é" } } },
      },
      { type: "MODIFIED", object: { ...identity, object: { metadata, spec: { nodeName: "m" } } } },
      { type: "BOOKMARK", resourceVersion: "9", endsInitialEvents: true },
      { type: "ERROR", status: { code: 410, reason: "Expired" } },
    ]);
  }
  const whole = new JsonWatchDecoder({ spec: true }).push(bytes);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const decoder = new JsonWatchDecoder({ spec: true });
      const ends = [...cuts.sort((a, b) => a - b), bytes.length];
      const messages = ends.flatMap((end, at) => decoder.push(bytes.subarray(ends[at - 1] ?? 0, end)));
      expect([...messages, ...decoder.end()]).toEqual(whole);
    }),
  );
  const decoder = new JsonWatchDecoder(true);
  decoder.push(bytes.subarray(0, 20));
  expect(() => decoder.end()).toThrow("the watch ended within a message");
});
const identity = { name: "a", namespace: "b", uid: "c", resourceVersion: "1" };

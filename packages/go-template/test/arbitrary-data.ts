import fc from "fast-check";
import type { Typed } from "./typed-data.js";

/** Strings that templates and data have. */
export const words = [
  "",
  "a",
  "foo",
  "Foo Bar",
  "foo,bar",
  "é",
  "日本x",
  "a b  c",
  "10",
  "0x1f",
  "1.5",
  "true",
  "-3",
  "x\ny",
  "<a&b>",
  "fooBarHTTP2Baz",
  "1.2.3",
  "~1.2",
  "a/../b.txt",
  "%d",
  "$1",
];
/** Keys of maps. */
export const keys = ["a", "b", "c", "list", "n", "__proto__", "constructor", "x-y"];
/** Fields that templates read. */
export const fields = [
  "a",
  "b",
  "c",
  "list",
  "n",
  "pod",
  "Name",
  "Labels",
  "Port",
  "Extra",
  "missing",
  "toString",
  "constructor",
];

const scalar: fc.Arbitrary<Typed> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.constantFrom(...words),
  fc.constantFrom(0, 1, -1, 2.5, 1e6, 1e21, 123456789, 1e-7, 0.1),
  fc.record({ int: fc.constantFrom("0", "1", "-1", "3", "7", "-9223372036854775808") }),
  fc.record({ int64: fc.constantFrom("0", "5", "-7") }),
  fc.record({ uint8: fc.constantFrom("0", "5", "9") }),
);

const labels = fc.dictionary(fc.constantFrom(...keys.filter((key) => key !== "__proto__")), fc.constantFrom(...words), {
  maxKeys: 3,
});

const value: fc.Arbitrary<Typed> = fc.letrec<{
  value: Typed;
  pod: { name: string; labels: Record<string, string>; port: number; extra: Typed };
}>((tie) => ({
  pod: fc.record({
    name: fc.constantFrom(...words),
    labels,
    port: fc.integer({ min: 0, max: 9000 }),
    extra: tie("value"),
  }),
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 6, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
    {
      weight: 3,
      arbitrary: fc.record({
        map: fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), tie("value")), {
          maxLength: 4,
          selector: ([key]) => key,
        }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ strings: fc.array(fc.constantFrom(...words), { maxLength: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ labels }) },
    { weight: 1, arbitrary: fc.record({ "nil map": fc.constant(null) }) },
    { weight: 1, arbitrary: fc.record({ pod: tie("pod") }) },
  ),
})).value;

/** Data whose fields are likely to be those that templates read. */
export const data: fc.Arbitrary<Typed> = fc.oneof(
  { weight: 1, arbitrary: value },
  {
    weight: 6,
    arbitrary: fc
      .tuple(value, value, value, fc.array(value, { maxLength: 4 }), fc.integer({ min: -3, max: 12 }), labels)
      .map(([a, b, c, list, n, Labels]) => ({
        map: [
          ["a", a],
          ["b", b],
          ["c", c],
          ["list", list],
          ["n", { int: String(n) }],
          ["Labels", { labels: Labels }],
        ] as const,
      })),
  },
);

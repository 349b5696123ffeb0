import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { readDocument, readInSlices, type Reading } from "../src/index.js";
import { listSlices } from "../src/yaml/list-slices.js";

const document = (text: string) => ({ text, line: 7 });

/** Reads a text with one item in each slice, and returns the number of slices as well. */
function inSlices(text: string): { readonly reading: Reading; readonly slices: number } {
  const steps = readInSlices(document(text), "a.yaml", {}, 1);
  for (let slices = 0; ; slices++) {
    const { done, value } = steps.next();
    if (done === true) return { reading: value, slices };
  }
}

/** Reads a text that is too short for slices. */
const whole = (text: string): Reading => readDocument(document(text), "a.yaml");

const service = (name: string, port: unknown = 80) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "shop" },
  spec: { clusterIP: "10.0.0.1", ports: [{ port, name: "http" }] },
});
const list = (items: readonly unknown[]) => ({ apiVersion: "v1", kind: "List", items });

describe("a List in slices has the objects, lines and problems of the whole", () => {
  const items = [
    service("cart"),
    service("bad", "x"),
    { ...service("pay"), kind: "Unknown" },
    list([service("inner")]),
  ];
  test.each([
    ["items at the margin", stringify(list(items), { indentSeq: false })],
    ["indented items", stringify(list(items))],
    ["carriage returns", stringify(list(items)).replaceAll("\n", "\r\n")],
    ["comments", stringify(list(items)).replaceAll("  - apiVersion", "# comment\n\n  # another\n  - apiVersion")],
    ["keys after the items", stringify({ items, kind: "List", apiVersion: "v1", metadata: { a: "b" } })],
    ["a marker", `---\n${stringify(list(items))}`],
    ["flow items", `apiVersion: v1\nkind: List\nitems:\n${items.map((i) => `- ${JSON.stringify(i)}\n`).join("")}`],
    ["a block scalar", stringify(list([{ ...service("a"), text: "- x\n\n  - y\nitems:\n\n\n" }, service("b")]))],
  ])("with %s", (_, text) => {
    const { reading, slices } = inSlices(text);
    expect(slices).toBeGreaterThan(1);
    expect(reading).toEqual(whole(text));
  });
});

test.each([
  ["a string at the left margin", 'apiVersion: v1\nkind: List\nitems:\n- a: "b\n- c"\n- d: 1\n'],
  ["an anchor", "apiVersion: v1\nkind: List\nitems:\n- &a {a: b}\n- *a\n"],
  ["items twice", "apiVersion: v1\nkind: List\nitems:\n- a: b\nitems:\n- c: d\n"],
  ["no List", "apiVersion: v1\nkind: ConfigMap\nitems:\n- a: b\n"],
  ["the items in a string", "--- |\nkind: List\nitems:\n- a: b\n"],
  ["a malformed item", "apiVersion: v1\nkind: List\nitems:\n- a: [\n- c: d\n"],
  [
    "an item of a policy without a name",
    stringify(list([{ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy" }, service("a")])),
  ],
])("%s is read as a whole", (_, text) => {
  expect(inSlices(text).reading).toEqual(whole(text));
});

test("any text is read as it is in one piece", () => {
  const name = fc.constantFrom("cart", "pay", "é\n- x", "- items:", "#", "");
  const item = fc.oneof(
    name.map((n) => service(n)),
    fc.record({ kind: name, text: fc.string() }),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const text = fc
    .tuple(fc.array(item), fc.boolean(), fc.constantFrom(undefined, 20), fc.boolean())
    .map(([items, indentSeq, lineWidth = 0, isLast]) =>
      stringify(isLast ? { items, kind: "List", apiVersion: "v1" } : list(items), { indentSeq, lineWidth }),
    );
  const edited = fc
    .tuple(
      text,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom("", "\n", "- ", " ", '"', "items:\n", "# ", "...\n", "|", ":"))),
    )
    .map(([t, edits]) =>
      edits.reduce((s, [at, word]) => s.slice(0, at % s.length) + word + s.slice((at + 1) % s.length), t),
    );
  fc.assert(
    fc.property(fc.oneof(text, edited), (t) => void expect(inSlices(t).reading).toEqual(whole(t))),
    {
      numRuns: 200,
    },
  );
});

test("slices are of the given length, and each is bounded by one item more", () => {
  const items = Array.from({ length: 500 }, (_, i) => service(`s${i}`));
  const slices = listSlices(document(stringify(list(items))), 4096) ?? [];
  expect(slices.length).toBeGreaterThan(10);
  expect(Math.max(...slices.map(({ document: { text } }) => text.length))).toBeLessThan(4096 + 300);
  expect(slices.reduce((sum, slice) => sum + slice.items, 0)).toBe(items.length);
});

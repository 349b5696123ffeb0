import { expect, test } from "vitest";
import { FieldLines } from "@istiod/config-schema";

const item = (name: string, weight = "100"): string => `- apiVersion: networking.istio.io/v1
  kind: VirtualService
  metadata:
    name: ${name}
  spec:
    hosts: [cart]
    http:
    # The only route.
    - route:
      - destination:
          host: ${name}
        weight: ${weight}
`;
const head = "# All routes.\napiVersion: v1\nkind: List\nitems:\n";
const lines = { head: head.split("\n").length - 1, item: item("a").split("\n").length - 1 };
const weight = ["spec", "http", 0, "route", 0, "weight"];

/** Returns the line of a field of an item of the List. */
const lineOf = (file: FieldLines, index: number, field = weight): number =>
  file.lineOf({ line: lines.head + index * lines.item + 1, path: ["items", index] }, field);

test.each([3, 1000])("fields in a List of %d items are found, and missing ones at their parent", (count) => {
  const text = head + Array.from({ length: count }, (_, i) => item(`vs-${i}`)).join("");
  const file = new FieldLines(text);
  for (const index of [0, 1, count >> 1, count - 1]) {
    const end = lines.head + (index + 1) * lines.item;
    expect(lineOf(file, index)).toBe(end);
    expect(lineOf(file, index, ["spec", "http", 0, "retries"])).toBe(end - 3);
    expect(text.split("\n")[end - 1]).toBe("        weight: 100");
  }
});

test("of a long List, only the items around the needed one are parsed", () => {
  const items = Array.from({ length: 1000 }, (_, i) => item(`vs-${i}`, i === 900 ? "{ malformed" : "100"));
  const file = new FieldLines(head + items.join(""));
  expect(lineOf(file, 3)).toBe(lines.head + 4 * lines.item);
  expect(lineOf(file, 900)).toBe(lines.head + 900 * lines.item + 1);
});

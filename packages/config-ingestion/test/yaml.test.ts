import { describe, expect, test } from "vitest";
import { parseYaml, splitDocuments } from "../src/documents/yaml.js";

function value(text: string): unknown {
  const parsed = parseYaml({ text, line: 1 });
  if ("message" in parsed) throw new Error(parsed.message);
  return parsed.value;
}

describe("documents of a file", () => {
  test("are split at their markers, wherever those stand, and keep their lines", () => {
    expect(splitDocuments("a: 1\n---\nb: 2\n--- # c\nc: 3\n---\n# nothing\n---\n")).toEqual([
      { text: "a: 1\n", line: 1 },
      { text: "---\nb: 2\n", line: 2 },
      { text: "--- # c\nc: 3\n", line: 4 },
    ]);
    expect(splitDocuments("a: |\n  ---\n  text\nb: '--- no'\n")).toHaveLength(1);
    expect(splitDocuments("---\r\na: 1\r\n---\r\nb: 2\r\n")).toHaveLength(2);
    expect(splitDocuments("")).toEqual([]);
  });
});

describe("values", () => {
  test.each([
    ["yes", true],
    ["off", false],
    ["'yes'", "yes"],
    ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"],
    ["1e3", 1000],
    ["0x1F", 31],
    ["[2001:db8::]", ["2001:db8::"]],
    ["[2001:db8::, fe80::]", ["2001:db8::", "fe80::"]],
    ["{a: 2001:db8::}", { a: "2001:db8::" }],
    ["{a: b: }", undefined],
    ["[a: ]", [{ a: null }]],
    ["[::1]", ["::1"]],
    ["{base: &b {x: 1}, use: {<<: *b, y: 2}}", { base: { x: 1 }, use: { x: 1, y: 2 } }],
  ])("%s", (text, expected) => {
    if (expected === undefined) expect(() => value(text)).toThrow();
    else expect(value(text)).toEqual(expected);
  });

  test("a document made to explode by its aliases is refused", () => {
    const levels = Array.from({ length: 12 }, (_, i) => `a${i}: &a${i} [${i === 0 ? "x" : Array(12).fill(`*a${i - 1}`).join(", ")}]`);
    expect(parseYaml({ text: levels.join("\n"), line: 1 })).toMatchObject({ message: expect.stringMatching(/alias/i) as unknown });
  });

  test("a duplicate key is refused at its line", () => {
    expect(parseYaml({ text: "a: 1\nb: 2\na: 3\n", line: 10 })).toMatchObject({ line: 12 });
  });
});

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { parsePlainYaml } from "../src/yaml/plain-yaml.js";
import { parseWithPositions, parseYaml, splitDocuments } from "../src/yaml/yaml.js";
import { filesBelow, sharedFolder } from "./shared.js";

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
    expect(splitDocuments("# c\n%YAML 1.2\n---\na: 1\n---\nb: 2\n").map((d) => d.line)).toEqual([1, 5]);
    expect(value("# c\n%YAML 1.2\n---\na: 1\n")).toEqual({ a: 1 });
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
    ["0X1f", 31],
    ["017", 15],
    ["08", 8],
    ["0o17", 15],
    ["-0b101", -5],
    ["1_000", 1000],
    ["1_0.5", 10.5],
    ["_1", "_1"],
    ["7e4", 70_000],
    ["7e431949", "7e431949"],
    ["0x1ffffffffffffffff", "0x1ffffffffffffffff"],
    ["18446744073709551616", 18446744073709552000],
    ["12:30:45", "12:30:45"],
    ["y", true],
    ["N", false],
    ["yEs", "yEs"],
    ["null", null],
    ["{n: 1}", { false: 1 }],
    ["[2001:db8::]", ["2001:db8::"]],
    ["[2001:db8::, fe80::]", ["2001:db8::", "fe80::"]],
    ["{a: 2001:db8::}", { a: "2001:db8::" }],
    ["{a: b: }", undefined],
    ["[a: ]", [{ a: null }]],
    ["[::1]", ["::1"]],
    ["{base: &b {x: 1}, use: {<<: *b, z: 2}}", { base: { x: 1 }, use: { x: 1, z: 2 } }],
    ["|\n  without a line break", "without a line break"],
    ["|\n  with a line break\n", "with a line break\n"],
    ["a: |\n  one\nb: >+ # kept\n  two\n  three", { a: "one\n", b: "two three" }],
    ["a: |\n  one\n  ", { a: "one\n" }],
    ["a: |\n  one\n# end", { a: "one\n" }],
  ])("%s", (text, expected) => {
    if (expected === undefined) expect(() => value(text)).toThrow();
    else expect(value(text)).toEqual(expected);
  });

  test("a document made to explode by its aliases is rejected", () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) =>
        `a${i}: &a${i} [${
          i === 0
            ? "x"
            : Array(12)
                .fill(`*a${i - 1}`)
                .join(", ")
        }]`,
    );
    expect(parseYaml({ text: levels.join("\n"), line: 1 })).toMatchObject({
      message: expect.stringMatching(/alias/i) as unknown,
    });
  });

  test.each([201, 399, 999, 50_000])("a document of %d levels is rejected, however they are written", (levels) => {
    const flow = "[".repeat(levels) + "]".repeat(levels);
    const mapping = "{a: ".repeat(levels) + "}".repeat(levels);
    const block = levels > 1000 ? "" : Array.from({ length: levels }, (_, i) => `${" ".repeat(i)}a:`).join("\n");
    const compact = `${"- ".repeat(levels)}a`;
    for (const text of [
      flow,
      `&a ${flow}`,
      mapping,
      `&a ${mapping}`,
      compact,
      `- &a b\n${compact}`,
      ...(block === "" ? [] : [block, `${block} &a b`]),
    ]) {
      expect(parseYaml({ text, line: 3 })).toEqual({ line: 3, message: "it is nested more than 200 levels deep" });
    }
    expect(parseYaml({ text: "[".repeat(150) + "]".repeat(150), line: 1 })).toHaveProperty("value");
  });

  test("a duplicate key is rejected at its line", () => {
    expect(parseYaml({ text: "a: 1\nb: 2\na: 3\n", line: 10 })).toEqual({
      line: 12,
      message: 'key "a" is already set on line 10',
    });
  });

  test.each([
    [
      "in a mapping below",
      "a:\n- b:\n    c: 1\n    d: 2\n    c: 3\n",
      { line: 14, message: 'key "c" is already set on line 12' },
    ],
    ["in a flow mapping", "a: {b: 1,\n  b: 2}\n", { line: 11, message: 'key "b" is already set on line 10' }],
    ["that are quoted", "'a b': 1\n\"a b\": 2\n", { line: 11, message: 'key "a b" is already set on line 10' }],
    [
      "that mean the same",
      "y: 1\nyes: 2\n",
      { line: 11, message: 'key "yes", which means the same as "y", is already set on line 10' },
    ],
    [
      "of which the second has an anchor",
      "a: 1\n&x a: 2\n",
      { line: 11, message: 'key "a" is already set on line 10' },
    ],
    ["three times", "a: 1\na: 2\na: 3\n", { line: 11, message: 'key "a" is already set on line 10' }],
  ])("duplicate keys %s are named, with the lines of both", (_, text, expected) => {
    expect(parseYaml({ text, line: 10 })).toEqual(expected);
  });
});

describe("the two parsers", () => {
  const documents = ["scenarios", "cases", "peer"].flatMap((name) => {
    const folder = sharedFolder(name);
    return folder === undefined ? [] : filesBelow(folder, ".yaml");
  });

  test("read the same from every file beside the repository", ({ skip }) => {
    skip(documents.length === 0, "no ../shared/scenarios, ../shared/cases and ../shared/peer beside the repository");
    let plain = 0;
    let all = 0;
    for (const file of documents) {
      for (const document of splitDocuments(readFileSync(file, "utf8")).filter((d) => d.text.length < 10_000)) {
        if (all++ % 4 > 0) continue;
        const quick = parsePlainYaml(document.text);
        if (quick === undefined) continue;
        plain++;
        const slow = JSON.stringify((parseWithPositions(document) as { value: unknown }).value);
        if (slow !== JSON.stringify(quick.value)) expect.fail(file);
      }
    }
    console.log(`${plain} of ${Math.ceil(all / 4)} documents are plain`);
  });

  test("read the same from any JSON value, however it is written", () => {
    const scalar = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.constantFrom(
        "yes",
        "no",
        "on",
        "null",
        "~",
        "<<",
        "012",
        "0o17",
        "1_000",
        "1e3",
        ".5",
        "-.inf",
        "2001:db8::",
        "12:30:45",
        "2024-01-01",
        "=",
        "- a",
        "a: b",
        "#x",
        "*",
        "&x",
        "!t",
        "%",
        "@",
        "`",
        "|",
        ">",
        "\t",
        "",
      ),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        scalar,
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom("yes", "1", "a b", "x:")), tie("value"), {
          maxKeys: 4,
        }),
      ),
    })).value;
    fc.assert(
      fc.property(json, fc.boolean(), (value, flow) => {
        const text = stringify(value, { version: "1.1", ...(flow && { collectionStyle: "flow" as const }) });
        const slow = parseWithPositions({ text, line: 1 });
        const quick = parsePlainYaml(text);
        if (quick !== undefined && "value" in slow) expect(quick.value).toEqual(slow.value);
      }),
      { numRuns: 500 },
    );
  });

  test("plain scalars mean the same", () => {
    const words = [
      "0",
      "-0",
      "+1",
      "007",
      "0o17",
      "0x1F",
      "0b11",
      "1_000",
      "-_0",
      "+__1_",
      "-_.5",
      "_1",
      "._5",
      "0x_1",
      "1.5",
      ".5",
      "5.",
      "1e3",
      "1E-3",
      "1.e3",
      "-.5",
      "nan",
      "Null",
      "NULL",
      "nULL",
      "~",
      "True",
      "TRUE",
      "tRUE",
      "y",
      "n",
      "Yes",
      "NO",
      "On",
      "oFF",
      "12:30",
      "2024-01-01",
      "2024-01-01T00:00:00Z",
      "<<",
      "=",
      "a#b",
      "1.2.3.4",
      "::1",
      "0.0.0.0/0",
      "1e",
      "0x",
      "--",
      "1-2",
      "1,5",
    ];
    const differing = words.filter((word) => {
      const slow = parseWithPositions({ text: `a: ${word}`, line: 1 });
      const quick = parsePlainYaml(`a: ${word}`);
      return (
        quick !== undefined &&
        !Object.is(JSON.stringify(quick.value), JSON.stringify("value" in slow ? slow.value : slow))
      );
    });
    expect(differing).toEqual([]);
  });
});

import { parseYaml } from "@istiod/config-schema";
import { describe, expect, it } from "vitest";

const parse = (text: string, allowsDuplicateKeys: boolean): unknown => {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys });
  return "message" in parsed ? parsed.message : parsed.value;
};

describe("keys that a mapping has twice", () => {
  // The anchor selects the parser with positions.
  it.each(["a: 1\nb: 2\na: 3\n", "a: &x 1\nb: 2\na: 3\n"])("have the last value if they are allowed: %j", (text) => {
    expect(parse(text, true)).toEqual({ a: 3, b: 2 });
    expect(parse(text, false)).toBe('key "a" is already set on line 1');
  });
});

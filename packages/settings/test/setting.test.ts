import {
  booleanSetting,
  durationSetting,
  enumSetting,
  integerSetting,
  listSetting,
  mapSetting,
  numberSetting,
  readSettings,
  type Setting,
  SettingError,
  stringArraySetting,
  stringSetting,
} from "@istiod/settings";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const named = { flag: "a", variable: "A", help: "value" };

describe("precedence", () => {
  const setting = stringSetting({ flag: "a", variable: ["A", "B"], default: "default", help: "value" });

  it.each([
    ["the default", {}, undefined, "default"],
    ["the default over an empty variable", { A: "", B: "" }, undefined, "default"],
    ["the variable over the default", { A: "variable" }, undefined, "variable"],
    ["the first variable over the second", { A: "first", B: "second" }, undefined, "first"],
    ["the second variable if the first is empty", { A: "", B: "second" }, undefined, "second"],
    ["the flag over the variable", { A: "variable" }, ["flag"], "flag"],
    ["an empty flag over the variable", { A: "variable" }, [""], ""],
    ["the last of several flags", {}, ["x", "y"], "y"],
  ])("is %s", (_, env, given, value) => {
    expect(setting.read(env, given)).toBe(value);
  });

  it("holds for each setting of a table, by property", () => {
    const table = { name: setting, debug: booleanSetting({ variable: "DEBUG", default: false, help: "value" }) };
    expect(readSettings(table, { B: "b", DEBUG: "T" }, { a: ["flag"] })).toEqual({ name: "flag", debug: true });
  });
});

describe("types", () => {
  it.each([["1"], ["t"], ["T"], ["TRUE"], ["true"], ["True"]])("a boolean is true as %s", (text) =>
    expect(booleanSetting({ ...named, default: false }).read({ A: text })).toBe(true),
  );
  it.each([["0"], ["f"], ["F"], ["FALSE"], ["false"], ["False"]])("a boolean is false as %s", (text) =>
    expect(booleanSetting({ ...named, default: true }).read({ A: text })).toBe(false),
  );

  it("a list is separated by commas, and a repeated flag adds to it", () => {
    const list = listSetting({ ...named, default: ["x"] });
    expect(list.read({ A: " a, b,,c " })).toEqual(["a", "b", "c"]);
    expect(list.read({ A: "a" }, ["b,c", "d"])).toEqual(["b", "c", "d"]);
  });

  it("an array has an item for each flag", () => {
    expect(stringArraySetting({ ...named, default: ["x"] }).read({}, ["a,b", "c"])).toEqual(["a,b", "c"]);
    expect(stringArraySetting({ ...named, default: ["x"] }).read({})).toEqual(["x"]);
  });

  it("a map has key=value pairs, and a repeated flag adds to it", () => {
    const map = mapSetting({ ...named, default: {} });
    expect(map.read({}, ["a=1,b=x=y", "a=2"])).toEqual({ a: "2", b: "x=y" });
  });

  it("a duration is milliseconds, and 0 if it is negative", () => {
    expect(durationSetting({ ...named, default: 1 }).read({ A: "1m0.25s" })).toBe(60_250);
    expect(durationSetting({ ...named, default: 1 }).read({ A: "-1s" })).toBe(0);
  });

  it("an enum is one of its values, or its default", () => {
    const policy = enumSetting<"" | "x" | "y">({ ...named, default: "" }, ["x", "y"]);
    expect([policy.read({}), policy.read({ A: "y" }), policy.read({ A: "y" }, [""])]).toEqual(["", "y", ""]);
  });
});

it.each<[Setting<unknown>, string, string]>([
  [booleanSetting({ ...named, default: true }), "tRUE", "true or false"],
  [booleanSetting({ ...named, default: true }), "yes", "true or false"],
  [integerSetting({ ...named, default: 1 }, { min: 1, max: 9 }), "10", "an integer between 1 and 9"],
  [integerSetting({ ...named, default: 1 }, { min: 0 }), "-1", "an integer of at least 0"],
  [integerSetting({ ...named, default: 1 }, { max: 3 }), "4", "an integer of at most 3"],
  [integerSetting({ ...named, default: 1 }), "1.5", "an integer"],
  [integerSetting({ ...named, default: 1 }), "1e3", "an integer"],
  [integerSetting({ ...named, default: 1 }), "9007199254740993", "an integer"],
  [numberSetting({ ...named, default: 1 }, { min: 0, max: 1 }), "2", "a number between 0 and 1"],
  [numberSetting({ ...named, default: 1 }), "0x10", "a number"],
  [durationSetting({ ...named, default: 1 }), "10", "a duration such as 100ms, 10s or 1h30m"],
  [mapSetting({ ...named, default: {} }), "a", "key=value pairs separated by commas"],
  [enumSetting<"x" | "y">({ ...named, default: "x" }, ["x", "y"]), "z", "one of x, y"],
])("an error names the flag or variable, the value %#, and the expected syntax", (setting, text, expected) => {
  expect(() => setting.read({ A: text })).toThrow(`invalid value "${text}" for A: expected ${expected}`);
  expect(() => setting.read({}, [text])).toThrow(`invalid value "${text}" for --a: expected ${expected}`);
});

describe("for any value", () => {
  const word = fc.stringMatching(/^[a-z0-9._:/-]+$/);

  function roundTrips<T>(setting: Setting<T>, values: fc.Arbitrary<T>): void {
    fc.assert(
      fc.property(values, (value) => {
        expect(setting.parse(setting.format(value))).toEqual(value);
      }),
    );
  }

  it("parsing reverses formatting", () => {
    roundTrips(stringSetting({ ...named, default: "" }), fc.string());
    roundTrips(booleanSetting({ ...named, default: false }), fc.boolean());
    roundTrips(integerSetting({ ...named, default: 0 }), fc.maxSafeInteger());
    roundTrips(
      numberSetting({ ...named, default: 0 }),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }).map((value) => value + 0),
    );
    roundTrips(durationSetting({ ...named, default: 0 }), fc.nat(2 ** 40));
    roundTrips(listSetting({ ...named, default: [] }), fc.array(word));
    roundTrips(mapSetting({ ...named, default: {} }), fc.dictionary(word, word));
  });

  it("no text causes another error than SettingError", () => {
    const settings = [
      stringSetting({ ...named, default: "" }),
      booleanSetting({ ...named, default: false }),
      integerSetting({ ...named, default: 0 }),
      numberSetting({ ...named, default: 0 }),
      durationSetting({ ...named, default: 0 }),
      listSetting({ ...named, default: [] }),
      mapSetting({ ...named, default: {} }),
      enumSetting<"x">({ ...named, default: "x" }, ["x"]),
    ];
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...settings), (text, setting) => {
        try {
          setting.read({ A: text }, [text]);
        } catch (error) {
          expect(error).toBeInstanceOf(SettingError);
          expect((error as Error).message).toContain("--a");
        }
      }),
    );
  });
});

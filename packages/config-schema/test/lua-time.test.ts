import { describe, expect, test } from "vitest";
import { luaFault } from "../src/validation/lua/lua.js";

/** Returns the fault of a script, which must be found in linear time: quadratic time would be minutes. */
function faultSoon(script: string): string | undefined {
  const start = performance.now();
  const fault = luaFault(script);
  expect(performance.now() - start).toBeLessThan(1500);
  return fault;
}

const length = 200_000;
const many = (text: string): string => text.repeat(length);

describe("long malformed numbers take linear time", () => {
  test.each<[string, string]>([
    ["decimal", `${many("1")}x`],
    ["decimal fraction", `1.${many("1")}x`],
    ["decimal fraction without an integer", `.${many("1")}x`],
    ["digits, fraction and exponent", `${many("1")}.${many("1")}e${many("1")}x`],
    ["hexadecimal", `0x${many("1")}x`],
    ["hexadecimal fraction", `0x1.${many("a")}x`],
    ["hexadecimal fraction without an integer", `0x.${many("a")}x`],
    ["hexadecimal exponent", `0x${many("1")}.${many("1")}p${many("1")}x`],
    ["binary zeros", `0b${many("0")}x`],
    ["binary digits", `0b${many("01")}x`],
    ["decimal integer of 64 bits", `${many("1")}ULx`],
    ["hexadecimal integer of 64 bits", `0x${many("1")}ULx`],
    ["binary integer of 64 bits", `0b${many("0")}ULx`],
    ["integer of 64 bits that is too large", `${many("0")}${many("1")}ULL`],
    ["hexadecimal integer of 64 bits that is too large", `0x${many("0")}${many("1")}LL`],
  ])("%s", (_, number) => {
    expect(faultSoon(`x = ${number}`)).toMatch(/^is not valid Lua: line 1: malformed number near /);
  });
});

test("long numbers that LuaJIT reads are accepted", () => {
  const numbers = [
    many("1"),
    `${many("1")}.${many("1")}e-5i`,
    `0x${many("a")}.`,
    `0b${many("0")}`,
    `0b${many("0")}${"1".repeat(64)}`,
    "0b1i",
    `${many("0")}1ULL`,
    `0x${many("0")}fLLU`,
  ];
  for (const number of numbers) expect(faultSoon(`x = ${number}`)).toBeUndefined();
  for (const number of ["0b", "0bi", "0b2", `0b1${"0".repeat(64)}`, "0x", "1..", "0x.p1"])
    expect([number, faultSoon(`x = ${number}`)]).toEqual([number, expect.stringContaining("malformed number")]);
});

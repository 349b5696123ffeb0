import { describe, expect, test } from "vitest";
import { luaFault } from "../src/validation/lua/lua.js";

/** Returns the fault of a script, which must be found in linear time: quadratic time would be minutes. */
function faultSoon(script: string): string | undefined {
  const start = performance.now();
  const fault = luaFault(script);
  expect(performance.now() - start).toBeLessThan(4000);
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

const nested = (depth: number, open: string, inner: string, close: string): string =>
  `${open.repeat(depth)}${inner}${close.repeat(depth)}`;
const each = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(" ");

describe("long scripts take linear time", () => {
  const open = "local f = function() ";
  const locals = `local ${each(197, (i) => `l${i},`)} z `;
  test("global names in nested functions with many local variables", () => {
    expect(faultSoon(nested(90, `${open}${locals}`, "x = y ".repeat(length / 2), "end "))).toBeUndefined();
  });
  test("upvalues of functions far outside", () => {
    const names = each(60, (i) => `u${i},`);
    expect(faultSoon(`local ${names} z ${nested(90, open, "u7 = u8 ".repeat(length / 2), "end ")}`)).toBeUndefined();
  });
  test("jumps to many labels, in many blocks", () => {
    const count = 50_000;
    const jumps = each(count, (i) => `goto l${i}`);
    expect(faultSoon(`${jumps} ${each(count, (i) => `::l${i}:: x = 1`)}`)).toBeUndefined();
    expect(faultSoon(`${nested(190, "do ", jumps, " end")} ${each(count, (i) => `::l${i}:: x = 1`)}`)).toBeUndefined();
    expect(faultSoon(`${"goto a ".repeat(count)} ${each(count, (i) => `::l${i}:: x = 1`)} ::a::`)).toBeUndefined();
    expect(faultSoon(nested(190, "do ", `::a:: ${"do goto a end ".repeat(count)}`, " end"))).toBeUndefined();
  });
});

test("jumps find labels of their block and of those around it, not those in the scope of a later local variable", () => {
  const valid = [
    "goto a do ::a:: end ::a::",
    "do goto a end local b do ::a:: end ::a::",
    "::a:: do goto a end goto a",
    "do do goto a end ::a:: end do ::a:: goto a end",
    "local b do local c goto a end ::a:: b()",
    "local f = function() ::a:: goto a end ::a::",
    "do goto a; local b ::a:: end",
  ];
  for (const script of valid) expect([script, luaFault(script)]).toEqual([script, undefined]);
  const invalid = {
    "do goto a end local b, c ::a:: b()": "goto a jumps into the scope of local 'b'",
    "local b do local c goto a local d ::a:: b() end": "goto a jumps into the scope of local 'd'",
    "goto a do local b ::a:: b() end": "undefined label 'a' of the goto in line 1",
    "goto a;\n goto b do ::a:: end": "undefined label 'a' of the goto in line 1",
    "do\n goto b end goto a ::c::": "undefined label 'b' of the goto in line 2",
    "::a:: local f = function() goto a end": "undefined label 'a' of the goto in line 1",
    "repeat goto a; local b ::a:: until b": "goto a jumps into the scope of local 'b'",
    "while true do local f = function() break end end": "break outside a loop",
    "while true do end break": "break outside a loop",
  };
  for (const [script, fault] of Object.entries(invalid))
    expect([script, luaFault(script)]).toEqual([script, expect.stringContaining(fault)]);
});

test("at most 60 upvalues of a function, counted also in those between", () => {
  const names = (count: number): string => each(count, (i) => `u${i}`).replaceAll(" ", ", ");
  const script = (count: number): string =>
    `local ${names(count)} local f = function() return function() x(${names(30)}) end, function() x(${names(count)}) end end`;
  expect(luaFault(script(60))).toBeUndefined();
  expect(luaFault(script(61))).toMatch(/more than 60 upvalues in one function/);
  expect(luaFault(`${script(60)} do local u0 end local g = function() local u1 x(u1, u0) end`)).toBeUndefined();
});

import {
  formatDurationMs,
  formatGoDuration,
  goDurationText,
  parseDurationMs,
  parseGoBoolean,
  parseGoDuration,
  protobufDuration,
  readGoDuration,
} from "@istiod/settings";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("Go durations", () => {
  it.each<[string, bigint]>([
    ["0", 0n],
    ["-0", 0n],
    ["0s", 0n],
    ["1ns", 1n],
    ["1us", 1_000n],
    ["1µs", 1_000n],
    ["1μs", 1_000n],
    ["300ms", 300_000_000n],
    [".5s", 500_000_000n],
    ["1.s", 1_000_000_000n],
    ["+5s", 5_000_000_000n],
    ["-1.5h", -5_400_000_000_000n],
    ["24h0m0s", 86_400_000_000_000n],
    ["0.3333333333333333333h", 1_199_999_999_999n],
    ["9223372036854775807ns", 9_223_372_036_854_775_807n],
    ["-9223372036854775808ns", -9_223_372_036_854_775_808n],
  ])("parse %s", (text, nanoseconds) => {
    expect(parseGoDuration(text)).toBe(nanoseconds);
  });

  it.each([
    "",
    "5",
    "s",
    ".s",
    "1 s",
    " 1s",
    "1d",
    "1S",
    "1h-1m",
    "00",
    "+",
    "1e3s",
    "9223372036854775808ns",
    "-9223372036854775809ns",
    "3000000h",
  ])("reject %j", (text) => {
    expect(parseGoDuration(text)).toBeUndefined();
    expect(parseDurationMs(text)).toBeUndefined();
  });

  it.each([
    [0, "0s"],
    [0.25, "250us"],
    [100, "100ms"],
    [1500, "1.5s"],
    [5_400_000, "1h30m"],
    [86_400_000, "24h"],
    [3_600_250, "1h250ms"],
    [-1500, "-1.5s"],
    [594_890_840_701, "165247h27m20.701s"],
  ])("format %d ms as %s", (milliseconds, text) => {
    expect(formatDurationMs(milliseconds)).toBe(text);
    expect(parseDurationMs(text)).toBe(milliseconds);
  });

  it.each([
    ["", { reason: "invalid" }],
    ["1h-1m", { reason: "unknown unit", unit: "h-" }],
    ["5", { reason: "missing unit" }],
    ["1d", { reason: "unknown unit", unit: "d" }],
    ["3000000h", { reason: "invalid" }],
  ])("reject %j for Go's reason", (text, fault) => {
    expect(readGoDuration(text)).toEqual(fault);
  });

  it.each([
    [0n, "0s"],
    [999n, "999ns"],
    [-1_500n, "-1.5µs"],
    [250_000_000n, "250ms"],
    [60_000_000_000n, "1m0s"],
    [5_400_000_000_000n, "1h30m0s"],
    [3_600_500_000_000n, "1h0m0.5s"],
  ])("print %d ns as Go does: %s", (nanoseconds, text) => {
    expect(goDurationText(nanoseconds)).toBe(text);
  });

  it("are parsed as they are formatted, for all 64 bits", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanoseconds) => {
        expect(parseGoDuration(formatGoDuration(nanoseconds))).toBe(nanoseconds);
        expect(parseGoDuration(goDurationText(nanoseconds))).toBe(nanoseconds);
      }),
    );
  });

  it("convert to protobuf's JSON", () => {
    expect(protobufDuration(5_400_000_000_000n)).toBe("5400s");
    expect(protobufDuration(-250_000_000n)).toBe("-0.25s");
  });
});

it("Go booleans are exactly those of strconv.ParseBool", () => {
  const texts = ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"];
  expect(texts.map(parseGoBoolean)).toEqual([...Array<boolean>(6).fill(true), ...Array<boolean>(6).fill(false)]);
  for (const text of ["", "yes", "no", "on", "tRUE", "truE", " true", "01", "2"])
    expect(parseGoBoolean(text)).toBeUndefined();
});

import { expect, test } from "vitest";
import { duration, relativeTime } from "../src/time.js";

test.each([
  [0, "0ms"],
  [999, "999ms"],
  [1000, "1.0s"],
  [9999, "9.9s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_599_999, "59m"],
  [3_600_000, "1h"],
  [7_500_000, "2h 5m"],
  [86_400_000, "1d"],
  [273_600_000, "3d 4h"],
  [864_000_000, "10d"],
])("%d ms is %s", (ms, text) => expect(duration(ms)).toBe(text));

test("times are relative, with the exact time", () => {
  const at = Date.parse("2027-03-01T12:00:00Z");
  expect(relativeTime(at, at + 500).markup).toBe(
    '<time datetime="2027-03-01T12:00:00.000Z" title="2027-03-01T12:00:00.000Z">now</time>',
  );
  expect(relativeTime(at, at + 90_000).markup).toContain(">1m ago<");
  expect(relativeTime(at, at - 90_000).markup).toContain(">in 1m<");
});

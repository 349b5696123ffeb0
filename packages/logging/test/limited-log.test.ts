import { LimitedLog } from "@istiod/logging";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, it } from "vitest";

it("writes a number of lines at once, and the number of those that it suppressed later", () => {
  const lines: string[] = [];
  const write = (line: unknown): void => void lines.push(String(line));
  const clock = new FakeClock();
  const log = new LimitedLog({ debug: write, info: write, warn: write, error: write }, clock, 2);
  for (let i = 0; i < 5; i++) log.write("warn", `line ${i}`);
  expect(lines).toEqual(["line 0", "line 1"]);
  clock.advance(30_000);
  log.write("warn", "later");
  expect(lines.slice(2)).toEqual(["later (3 similar messages suppressed)"]);
});

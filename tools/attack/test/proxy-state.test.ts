import { expect, it } from "vitest";
import { answered, causeOfEnd, isConnectedTo, notConnected, opened } from "../src/soak/proxy-state.js";

it("an end that is noticed after istiod was started again is charged to the kill", () => {
  const connected = answered(opened(1));
  expect(causeOfEnd(connected, 1)).toBe("running");
  expect(causeOfEnd(connected, 2)).toBe("kill");
});

it("an attempt that a kill has ended is charged to the kill", () => {
  expect(causeOfEnd(opened(1), 2)).toBe("kill");
});

it("an attempt between a kill and the next start belongs to the next start", () => {
  const attempt = opened(2);
  expect(causeOfEnd(attempt, 2)).toBe("attempt");
  expect(causeOfEnd(answered(attempt), 2)).toBe("running");
});

it("further answers do not move a stream to another start", () => {
  expect(answered(answered(opened(3)))).toEqual({ kind: "connected", start: 3 });
});

it("a proxy is connected to the start that has answered it only", () => {
  expect(isConnectedTo(opened(1), 1)).toBe(false);
  expect(isConnectedTo(answered(opened(1)), 1)).toBe(true);
  expect(isConnectedTo(answered(opened(1)), 2)).toBe(false);
  expect(isConnectedTo(answered(notConnected), 1)).toBe(false);
});

it("a proxy without a stream has no end", () => {
  expect(() => causeOfEnd(notConnected, 1)).toThrow("a proxy without a stream cannot lose it");
});

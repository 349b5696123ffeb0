import { MemoryMeter } from "@istiod/metrics/testing";
import { expect, it } from "vitest";

it("counts by labels, in whatever order they are given", () => {
  const meter = new MemoryMeter();
  const counter = meter.counter({ name: "events", help: "Events.", labels: ["kind", "type"] });
  counter.add({ kind: "Service", type: "add" });
  counter.add({ type: "add", kind: "Service" }, 2);
  expect(meter.value("events", { kind: "Service", type: "add" })).toBe(3);
  expect(meter.value("events", { kind: "Pod", type: "add" })).toBeUndefined();
});

it("an instrument of a name that exists is the existing one", () => {
  const meter = new MemoryMeter();
  meter.counter({ name: "rejected", help: "Rejected objects." }).add();
  meter.counter({ name: "rejected", help: "Rejected objects." }).add();
  expect(meter.value("rejected")).toBe(2);
});

it("gauges go up and down, and forget series that are removed", () => {
  const meter = new MemoryMeter();
  const gauge = meter.gauge({ name: "streams", help: "Streams.", labels: ["node"] });
  gauge.set(3, { node: "a" });
  gauge.add({ node: "a" }, -1);
  expect(meter.value("streams", { node: "a" })).toBe(2);
  gauge.remove({ node: "a" });
  expect(meter.value("streams", { node: "a" })).toBeUndefined();
});

it("observed values are read when they are asked for", () => {
  const meter = new MemoryMeter();
  let carts = 1;
  meter.observeGauge({ name: "carts", help: "Carts." }, () => carts);
  meter.observeCounter({ name: "reads", help: "Reads.", labels: ["type"] }, () => [
    { value: carts * 10, labels: { type: "hit" } },
  ]);
  carts = 2;
  expect([meter.value("carts"), meter.value("reads", { type: "hit" })]).toEqual([2, 20]);
});

import { equal } from "node:assert/strict";
import type { Meter } from "@istiod/metrics";
import { MemoryMeter } from "@istiod/metrics/testing";

function cartMetrics(meter: Meter, carts: ReadonlyMap<string, number>): { checkedOut(method: string): void } {
  const checkouts = meter.counter({ name: "cart_checkouts_total", help: "Carts checked out.", labels: ["method"] });
  meter.observeGauge({ name: "cart_open", help: "Open carts." }, () => carts.size);
  return { checkedOut: (method) => checkouts.add({ method }) };
}

const meter = new MemoryMeter();
const metrics = cartMetrics(meter, new Map([["a", 1]]));
metrics.checkedOut("card");
metrics.checkedOut("card");
equal(meter.value("cart_checkouts_total", { method: "card" }), 2);
equal(meter.value("cart_open"), 1);

import { Code, type ConnectError } from "@connectrpc/connect";
import { FakeClock } from "@istiod/runtime/testing";
import { idle } from "@istiod/xds-server/testing";
import { expect, test } from "vitest";
import { StreamAdmission } from "../src/connection/admission.js";

/** An admission of ten streams a second, and the number of streams of a peer by outcome. */
function scene(perSecond = 10) {
  const clock = new FakeClock();
  const admission = new StreamAdmission(perSecond, clock);
  const open = (key: string, count: number, isAuthenticated = false) => {
    const outcomes = { admitted: 0, rejected: 0 };
    for (let i = 0; i < count; i++) {
      admission.queue({ key, isAuthenticated }).admitted.then(
        () => outcomes.admitted++,
        (error: ConnectError) => {
          expect(error.code).toBe(Code.ResourceExhausted);
          outcomes.rejected++;
        },
      );
    }
    return outcomes;
  };
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await idle();
    }
  };
  return { admission, clock, open, advance };
}

test("one peer alone has the whole rate; what waits for a second is admitted, and the rest rejected", async () => {
  const { open, advance } = scene();
  const fleet = open("127.0.0.1", 30);
  await idle();
  expect(fleet).toEqual({ admitted: 1, rejected: 19 });
  await advance(1000);
  expect(fleet).toEqual({ admitted: 11, rejected: 19 });
});

test("a peer that opens 10,000 streams delays itself, not others", async () => {
  const { open, advance } = scene();
  const flood = open("10.0.0.66", 10_000);
  const honest = open("10.0.0.1", 3);
  await advance(200);
  expect(honest.admitted).toBe(1);
  await advance(400);
  expect(honest).toEqual({ admitted: 3, rejected: 0 });
  await advance(1000);
  expect(flood.rejected).toBeGreaterThan(9980);
});

test("clients with a verified certificate have half of the rate, however many addresses the others have", async () => {
  const { open, advance } = scene();
  const flood = Array.from({ length: 100 }, (_, i) => open(`10.0.1.${i}`, 1));
  const honest = open("spiffe://cluster.local/ns/shop/sa/cart", 5, true);
  await advance(1000);
  expect(honest).toEqual({ admitted: 5, rejected: 0 });
  expect(flood.filter(({ admitted }) => admitted > 0).length).toBeGreaterThanOrEqual(5);
});

test("a stream that ends gives up its place", async () => {
  const { admission, open, advance } = scene();
  open("a", 1);
  const gone = admission.queue({ key: "a", isAuthenticated: false });
  const next = open("a", 1);
  gone.cancel();
  await advance(100);
  expect(next.admitted).toBe(1);
});

test("rates above a thousand a second are not limited by the resolution of timers", async () => {
  const { open, clock } = scene(10_000);
  const fleet = open("a", 2000);
  for (let ms = 0; ms < 201; ms++) clock.advance(1);
  await idle();
  expect(fleet).toEqual({ admitted: 2000, rejected: 0 });
});

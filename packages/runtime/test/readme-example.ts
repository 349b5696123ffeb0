import { deepEqual, equal } from "node:assert/strict";
import { Backoff, Closers, reasonOf } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";

const backoff = new Backoff({ initialMs: 500, maxMs: 2000, random: () => 1 });
deepEqual([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [500, 1000, 2000, 2000]);

const closed: string[] = [];
const closers = new Closers();
closers.defer(() => closed.push("listener"));
closers.defer(() => closed.push("connections"));
await closers.close();
deepEqual(closed, ["connections", "listener"]);

const clock = new FakeClock();
let isDue = false;
clock.after(1000, () => (isDue = true));
clock.advance(1000);
equal(isDue, true);

equal(reasonOf(new Error("no route")), "no route");

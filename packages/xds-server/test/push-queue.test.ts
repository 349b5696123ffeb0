import { expect, test, vi } from "vitest";
import { PushQueue, type PushTarget } from "../src/push/push-queue.js";
import { FakeClock } from "@istiod/runtime/testing";
import { idle } from "@istiod/xds-server/testing";

class Client implements PushTarget {
  blocked = false;
  copiedBytes = 0;
  readonly #name: string;
  readonly #log: string[];

  constructor(name: string, log: string[]) {
    this.#name = name;
    this.#log = log;
  }

  push(): "done" | "blocked" {
    this.#log.push(this.#name);
    return this.blocked ? "blocked" : "done";
  }
}

function queueOf(options: { concurrent?: number; maxCopiedBytes?: number } = {}) {
  const clock = new FakeClock();
  const queue = new PushQueue({ concurrent: 2, blockedLimitMs: 1000, maxCopiedBytes: 100, clock, ...options });
  const log: string[] = [];
  const client = (name: string, state: Partial<Client> = {}) => Object.assign(new Client(name, log), state);
  return { clock, queue, log, client };
}

test("streams with a request precede streams with a change, and each is queued once", async () => {
  const { queue, log, client } = queueOf();
  const [a, b, c] = [client("a"), client("b"), client("c")];
  queue.add(a, "change");
  queue.add(b, "change");
  queue.add(a, "change");
  queue.add(c, "request");
  queue.add(b, "request");
  await idle();
  expect(log).toEqual(["c", "b", "a"]);
});

test("the number of pushes in progress is limited, and resumed pushes come first", async () => {
  const { queue, log, client } = queueOf();
  const [a, b, c, d] = [client("a", { blocked: true }), client("b", { blocked: true }), client("c"), client("d")];
  for (const each of [a, b, c, d]) queue.add(each, "request");
  await idle();
  expect(log).toEqual(["a", "b"]);
  expect(queue.length).toBe(2);
  b.blocked = false;
  queue.resume(b);
  await idle();
  expect(log).toEqual(["a", "b", "b", "c", "d"]);
});

test("a push that stays blocked stops counting", async () => {
  const { queue, log, client, clock } = queueOf({ concurrent: 1 });
  const [stuck, next] = [client("stuck", { blocked: true }), client("next")];
  queue.add(stuck, "request");
  queue.add(next, "change");
  await idle();
  clock.advance(900);
  await idle();
  expect(log).toEqual(["stuck"]);
  clock.advance(400);
  await idle();
  expect(log).toEqual(["stuck", "next"]);
  stuck.blocked = false;
  queue.resume(stuck);
  await idle();
  expect(log).toEqual(["stuck", "next", "stuck"]);
});

test("no push is started while transports hold too many copied bytes", async () => {
  const { queue, log, client } = queueOf({ concurrent: 10 });
  const [big, next] = [client("big", { blocked: true, copiedBytes: 100 }), client("next")];
  queue.add(big, "request");
  queue.add(next, "request");
  await idle();
  expect(log).toEqual(["big"]);
  queue.remove(big);
  await idle();
  expect(log).toEqual(["big", "next"]);
});

test.for(["concurrent", "copied"] as const)("while the limit of %s pushes is reached, nothing runs", async (limit) => {
  const { queue, log, client } = queueOf(limit === "concurrent" ? { concurrent: 1 } : { concurrent: 10 });
  let asked = 0;
  const big = client("big", { blocked: true });
  Object.defineProperty(big, "copiedBytes", { get: () => (asked++, 100) });
  const immediates = vi.spyOn(globalThis, "setImmediate");
  queue.add(big, "request");
  queue.add(client("next"), "request");
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(log).toEqual(["big"]);
  expect(immediates.mock.calls.length).toBe(1);
  expect(asked).toBeLessThan(5);
  immediates.mockRestore();
});

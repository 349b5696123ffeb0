import { AdmissionError } from "@istiod/admission";
import { FakeClock } from "@istiod/runtime/testing";
import { type ValidationEvent, ValidationThread, type ValidationThreadOptions } from "@istiod/validation";
import { expect, it, onTestFinished } from "vitest";

const { signal } = new AbortController();

function start(options: ValidationThreadOptions = {}): ValidationThread {
  const thread = new ValidationThread(options);
  onTestFinished(() => thread.close());
  return thread;
}

function review(routes: number, weight: unknown = 100): Uint8Array {
  const route = { route: [{ destination: { host: "cart" }, weight }] };
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "large", namespace: "shop" },
    spec: { hosts: ["cart"], http: Array.from({ length: routes }, (_, at) => ({ ...route, name: `r${at}` })) },
  };
  const request = { uid: "1", operation: "CREATE", resource: { resource: "virtualservices" }, object };
  return Buffer.from(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }));
}

it("decides as the webhook does", { timeout: 60_000 }, async () => {
  const events: ValidationEvent[] = [];
  const thread = start({ onDecision: (event) => void events.push(event) });
  const answers = await Promise.all(
    [review(1), review(2000, "most"), review(3)].map((each) => thread.answer(each, { signal })),
  );
  expect(answers.map((answer) => JSON.parse(answer) as object)).toMatchObject([
    { kind: "AdmissionReview", response: { uid: "1", allowed: true } },
    { response: { allowed: false, status: { message: expect.stringContaining("has 2000 faults") as string } } },
    { response: { allowed: true } },
  ]);
  expect(events.map(({ allowed, reason }) => [allowed, reason])).toEqual([
    [true, undefined],
    [false, "invalid_resource"],
    [true, undefined],
  ]);
  expect(events[0]?.request).toMatchObject({ uid: "1", resource: { resource: "virtualservices" } });
});

it("rejects what is no review with the error of the webhook", { timeout: 60_000 }, async () => {
  const answer = start().answer(Buffer.from("{}"), { signal });
  await expect(answer).rejects.toThrow(new AdmissionError("unsupported", "kind is missing, expected AdmissionReview"));
});

it("a review that exceeds the heap is rejected, and the next one decided", { timeout: 60_000 }, async () => {
  const thread = start({ maxHeapMiB: 64 });
  await expect(thread.answer(review(200_000), { signal })).rejects.toMatchObject({ code: "too-large" });
  expect(JSON.parse(await thread.answer(review(1), { signal }))).toMatchObject({ response: { allowed: true } });
});

it("a review whose caller has gone is ended, and the next one decided", { timeout: 60_000 }, async () => {
  const thread = start();
  const gone = new AbortController();
  const ended = thread.answer(review(50_000), gone);
  const waiting = thread.answer(review(1), gone);
  const next = thread.answer(review(1), { signal });
  await new Promise((resolve) => setImmediate(resolve));
  gone.abort(new Error("gone"));
  await expect(ended).rejects.toThrow("gone");
  await expect(waiting).rejects.toThrow("gone");
  expect(JSON.parse(await next)).toMatchObject({ response: { allowed: true } });
});

it("ends its thread after a minute without reviews, and starts another one", { timeout: 60_000 }, async () => {
  const clock = new FakeClock();
  const thread = start({ clock });
  await thread.answer(review(1), { signal });
  expect(thread.isRunning).toBe(true);
  clock.advance(59_000);
  expect(thread.isRunning).toBe(true);
  clock.advance(1000);
  expect(thread.isRunning).toBe(false);
  expect(JSON.parse(await thread.answer(review(1), { signal }))).toMatchObject({ response: { allowed: true } });
});

it("close rejects the review that is being decided, and leaves no timer", { timeout: 60_000 }, async () => {
  const clock = new FakeClock();
  const thread = start({ clock });
  const ended = thread.answer(review(50_000), { signal });
  await expect.poll(() => thread.isRunning).toBe(true);
  await Promise.all([thread.close(), expect(ended).rejects.toThrow("the validation thread was closed")]);
  expect(thread.isRunning).toBe(false);
  expect(clock.pending).toEqual([]);
});

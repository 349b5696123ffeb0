import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type AdmissionHandlerOptions, admissionHandler, type AdmissionRequest } from "@istiod/admission";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, expect, it } from "vitest";

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

const review = JSON.stringify({
  kind: "AdmissionReview",
  apiVersion: "admission.k8s.io/v1",
  request: { uid: "1", operation: "CREATE", object: { metadata: {} } },
});

async function serve(options: Partial<AdmissionHandlerOptions> = {}) {
  const errors: { readonly status: number; readonly message: string }[] = [];
  const handler = admissionHandler({
    admit: () => ({ allowed: true }),
    onError: ({ message }, status) => void errors.push({ status, message }),
    ...options,
  });
  const server = createServer((http, response) => void handler(http, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const post = async (body: string | Uint8Array, init: RequestInit = {}, path = "/validate") => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body, ...init });
    return { status: response.status, text: await response.text() };
  };
  return { port, post, errors };
}

it("answers a review by its decision", async () => {
  const seen: (AdmissionRequest & { readonly path: string })[] = [];
  const { post } = await serve({
    admit: (request, { url }) => {
      seen.push({ ...request, path: url.pathname });
      return { allowed: false, message: "no" };
    },
  });
  const { status, text } = await post(review, {}, "/inject/cluster/c1?timeout=5s");
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ response: { uid: "1", allowed: false, status: { message: "no" } } });
  expect(seen).toMatchObject([{ uid: "1", operation: "CREATE", path: "/inject/cluster/c1" }]);
});

it.each<[string, string, RequestInit, number, string]>([
  ["another method", review, { method: "PUT" }, 405, "method PUT is not allowed, expected POST\n"],
  [
    "another media type",
    review,
    { headers: { "content-type": "text/yaml" } },
    415,
    'invalid Content-Type "text/yaml", expected application/json\n',
  ],
  ["no body", "", {}, 400, "no body found, expected an AdmissionReview\n"],
  ["a body that is no review", "{}", {}, 400, "kind is missing, expected AdmissionReview\n"],
])("rejects %s", async (_, body, init, status, text) => {
  const { post, errors } = await serve();
  expect(await post(body, init)).toEqual({ status, text });
  expect(errors).toEqual([{ status, message: text.trimEnd() }]);
});

it("accepts parameters of the media type", async () => {
  const { post } = await serve();
  expect(await post(review, { headers: { "content-type": "application/json; charset=utf-8" } })).toMatchObject({
    status: 200,
  });
});

it("rejects bodies over the limit, whether or not they state their length", async () => {
  const { port, post } = await serve({ maxBodyBytes: review.length });
  const tooLarge = { status: 413, text: `the body is larger than ${review.length} bytes\n` };
  expect(await post(review)).toMatchObject({ status: 200 });
  expect(await post(`${review} `)).toEqual(tooLarge);
  const request = httpRequest({ port, host: "127.0.0.1", method: "POST", path: "/" });
  request.setHeader("content-type", "application/json");
  request.on("error", () => undefined);
  request.write(review);
  request.write(" ");
  const [response] = (await once(request, "response")) as [{ readonly statusCode: number }];
  expect(response.statusCode).toBe(tooLarge.status);
  request.destroy();
});

it("limits the bytes of all bodies together, and counts them no longer once they are answered", async () => {
  const decisions: (() => void)[] = [];
  const { post } = await serve({
    maxHeldBytes: 2 * review.length,
    admit: () => new Promise((resolve) => decisions.push(() => resolve({ allowed: true }))),
  });
  const held = [post(review), post(review)];
  while (decisions.length < 2) await new Promise(setImmediate);
  expect(await post(review)).toEqual({ status: 429, text: "too many requests at the same time, try again\n" });
  for (const decide of decisions) decide();
  expect(await Promise.all(held)).toMatchObject([{ status: 200 }, { status: 200 }]);
  const next = post(review);
  while (decisions.length < 3) await new Promise(setImmediate);
  decisions[2]?.();
  expect(await next).toMatchObject({ status: 200 });
});

it("unfinished bodies of one address do not keep the review of another out", async (context) => {
  if (process.platform !== "linux") context.skip("the other address is of Linux's loopback network");
  const { port, post, errors } = await serve({ maxHeldBytes: 4 * review.length });
  const begin = "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n";
  for (let i = 0; i < 5; i++) {
    const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.66" });
    closing.push(() => socket.destroy());
    socket.write(begin + "[".repeat(review.length));
  }
  await expect.poll(() => errors.length, { timeout: 10_000 }).toBe(1);
  expect(await post(review)).toMatchObject({ status: 200 });
  expect(errors).toMatchObject([{ status: 429 }, { status: 429 }]);
});

it.each([
  ["the API server's timeout", "/validate?timeout=2s", 2000],
  ["its own, which the API server cannot extend", "/validate?timeout=10h", 30_000],
])("decides within %s", async (_, path, ms) => {
  const clock = new FakeClock();
  const aborted: boolean[] = [];
  let isAsked = false;
  const { post } = await serve({
    clock,
    admit: (_request, { signal }) =>
      new Promise(() => {
        isAsked = true;
        signal.addEventListener("abort", () => aborted.push(true));
      }),
  });
  const answer = post(review, {}, path);
  await expect.poll(() => isAsked).toBe(true);
  expect(clock.pending).toEqual([ms]);
  clock.advance(ms);
  expect(await answer).toEqual({ status: 504, text: `no decision within ${ms} ms\n` });
  expect(aborted).toEqual([true]);
});

it("a decision that fails is answered with 500, without its message", async () => {
  const { post, errors } = await serve({
    admit: () => {
      throw new Error("secret");
    },
  });
  expect(await post(review)).toEqual({ status: 500, text: "the webhook failed\n" });
  expect(errors).toEqual([{ status: 500, message: "secret" }]);
});

it("a caller that goes away before its body is complete is reported, and its bytes are released", async () => {
  const { port, post, errors } = await serve({ maxHeldBytes: review.length });
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{");
  await new Promise(setImmediate);
  socket.destroy();
  while (errors.length === 0) await new Promise(setImmediate);
  expect(errors).toMatchObject([{ status: 500 }]);
  expect(await post(review)).toMatchObject({ status: 200 });
});

it("large bodies are decided one after the other, small ones meanwhile", async () => {
  const decisions: (() => void)[] = [];
  const large = JSON.stringify({ ...(JSON.parse(review) as object), padding: "x".repeat(1000) });
  const { post } = await serve({
    largeBytes: 1000,
    answerLarge: (body, { url }) =>
      new Promise((resolve) => decisions.push(() => resolve(`${url.pathname} ${body.length}`))),
  });
  const first = post(large, {}, "/first");
  await expect.poll(() => decisions.length).toBe(1);
  const second = post(large, {}, "/second");
  expect(await post(review)).toMatchObject({ status: 200 });
  expect(decisions).toHaveLength(1);
  decisions[0]?.();
  expect(await first).toEqual({ status: 200, text: `/first ${large.length}` });
  await expect.poll(() => decisions.length).toBe(2);
  decisions[1]?.();
  expect(await second).toEqual({ status: 200, text: `/second ${large.length}` });
});

it("a large body whose deadline is over while it waits is not decided", async () => {
  const clock = new FakeClock();
  const decided: string[] = [];
  const large = JSON.stringify({ ...(JSON.parse(review) as object), padding: "x".repeat(1000) });
  let decide = (): void => undefined;
  const { post } = await serve({
    clock,
    largeBytes: 1000,
    answerLarge: (_, { url }) => {
      decided.push(url.pathname);
      return new Promise((resolve) => (decide = () => resolve("{}")));
    },
  });
  const first = post(large, {}, "/first?timeout=60s");
  await expect.poll(() => decided.length).toBe(1);
  const second = post(large, {}, "/second?timeout=5s");
  await expect.poll(() => clock.pending.length).toBe(2);
  clock.advance(5000);
  expect(await second).toEqual({ status: 504, text: "no decision within 5000 ms\n" });
  decide();
  expect(await first).toMatchObject({ status: 200 });
  expect(decided).toEqual(["/first"]);
});

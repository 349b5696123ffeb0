import { once } from "node:events";
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { X509Certificate } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { IstioCertificateRequestSchema, IstioCertificateResponseSchema } from "@istiod/istio-api/security/v1alpha1/ca";
import { encodeFrame } from "@istiod/protobuf-wire";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  CertificateAuthority,
  type CertificateCallsOptions,
  certificateCalls,
  createSelfSignedRoot,
  type Issuance,
  type RejectionReason,
  selfSignedBundle,
  staticTokens,
} from "@istiod/ca";
import { P256, request } from "./openssl.js";

const path = "/istio.v1.auth.IstioCertificateService/CreateCertificate";
const cartToken = "cart-0123456789abcdef";
const webToken = "web-0123456789abcdef";
const tokens = staticTokens([
  [cartToken, { trustDomain: "td", namespace: "shop", serviceAccount: "cart" }],
  [webToken, { trustDomain: "td", namespace: "shop", serviceAccount: "web" }],
]);

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

let authority: CertificateAuthority;
let csr: string;
beforeAll(async () => {
  const root = await createSelfSignedRoot({ organization: "td", key: { type: "ecdsa", curve: "P-256" } }, Date.now());
  authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
  csr = (await request(P256)).request;
});

async function serve(options: Partial<CertificateCallsOptions> = {}) {
  const issued: Issuance[] = [];
  const rejected: RejectionReason[] = [];
  const calls = certificateCalls({
    authority,
    trustDomain: "td",
    authenticators: [tokens],
    plaintext: true,
    events: { issued: (issuance) => issued.push(issuance), rejected: (reason) => rejected.push(reason) },
    ...options,
  });
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => calls.handlers.get(headers[":path"] ?? "")?.(stream, headers));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on("error", () => undefined);
  closers.push(() => {
    session.destroy();
    for (const each of sessions) each.destroy();
    server.close();
  });
  return { calls, issued, rejected, session };
}

interface Answer {
  readonly status: string;
  readonly message: string;
  readonly pushback: string | undefined;
  readonly chain: readonly string[];
}

function open(session: ClientHttp2Session, token?: string, headers: Record<string, string> = {}): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  });
  stream.on("error", () => undefined);
  return stream;
}

async function answer(stream: ClientHttp2Stream): Promise<Answer> {
  const body: Buffer[] = [];
  const status: IncomingHttpHeaders = {};
  stream.on("data", (chunk: Buffer) => body.push(chunk));
  stream.on("response", (headers) => Object.assign(status, headers));
  stream.on("trailers", (headers) => Object.assign(status, headers));
  await once(stream, "close");
  const message = Buffer.concat(body).subarray(5);
  return {
    status: String(status["grpc-status"]),
    message: decodeURIComponent(String(status["grpc-message"] ?? "")),
    pushback: status["grpc-retry-pushback-ms"] as string | undefined,
    chain: message.length === 0 ? [] : fromBinary(IstioCertificateResponseSchema, message).certChain,
  };
}

const frame = (text = csr): Buffer =>
  encodeFrame(toBinary(IstioCertificateRequestSchema, create(IstioCertificateRequestSchema, { csr: text })));

const ask = (session: ClientHttp2Session, token?: string, headers?: Record<string, string>): Promise<Answer> => {
  const stream = open(session, token, headers);
  stream.end(frame());
  return answer(stream);
};

describe("a call", () => {
  it("yields a certificate for the caller's identity", async () => {
    const { session, issued } = await serve();
    const { status, chain } = await ask(session, cartToken);
    expect(status).toBe("0");
    const leaf = new X509Certificate(chain[0]!);
    expect(leaf.subjectAltName).toBe("URI:spiffe://td/ns/shop/sa/cart");
    expect(chain[1]).toBe(authority.bundle.rootsPem);
    expect(issued).toHaveLength(1);
    expect(issued[0]).toMatchObject({
      names: ["spiffe://td/ns/shop/sa/cart"],
      key: "P-256",
      notAfter: Date.parse(leaf.validTo),
    });
    expect(BigInt(`0x${issued[0]!.serialNumber}`)).toBe(BigInt(`0x${leaf.serialNumber}`));
  });

  it.each<[string, string | undefined]>([
    ["without a token", undefined],
    ["with an unknown token", "stranger-0123456789"],
  ])("%s is answered before its body arrives", async (_, token) => {
    const { session } = await serve();
    const stream = open(session, token);
    expect(await answer(stream)).toMatchObject({ status: "16", message: "request authenticate failure" });
  });

  it("without a token is answered while it sends, and what it sends does not fill the connection's window", async () => {
    const { session } = await serve();
    const streams = Array.from({ length: 20 }, () => {
      const stream = open(session);
      stream.write(Buffer.concat([Buffer.of(0, 0, 64, 0, 0), Buffer.alloc(200_000)]));
      return answer(stream);
    });
    for (const { status } of await Promise.all(streams)) expect(status).toBe("16");
    expect((await ask(session, cartToken)).status).toBe("0");
  });

  it("with a longer message than the limit is answered once its length is known", async () => {
    const { session, rejected } = await serve();
    const stream = open(session, cartToken);
    stream.write(Buffer.of(0, 0, 64, 0, 0));
    expect(await answer(stream)).toMatchObject({
      status: "8",
      message: "gRPC message larger than max (4194304 vs. 98304)",
    });
    expect(rejected).toEqual(["too-large"]);
  });

  it.each([
    ["that is compressed", Buffer.of(1, 0, 0, 0, 0), "12", "compressed gRPC messages are not supported"],
    ["that ends early", Buffer.of(0, 0, 0, 0, 9, 1), "3", "request body ended within the message"],
    ["without a message", Buffer.alloc(0), "3", "request body ended within the message"],
    ["with two messages", Buffer.alloc(10), "12", "the request has more than one message"],
    ["that is no protobuf", encodeFrame(Buffer.of(0xff)), "3", "cannot decode the request"],
  ])("%s is rejected", async (_, body, status, message) => {
    const { session, rejected } = await serve();
    const stream = open(session, cartToken);
    stream.end(body);
    expect(await answer(stream)).toMatchObject({ status, message });
    expect(rejected).toEqual(["malformed"]);
  });

  it("whose CSR is invalid is answered with the reason", async () => {
    const { session } = await serve();
    const stream = open(session, cartToken);
    stream.end(frame("nonsense"));
    expect(await answer(stream)).toMatchObject({
      status: "3",
      message: 'CSR signing error (signing request: no PEM block "CERTIFICATE REQUEST" found)',
    });
  });
});

describe("time", () => {
  it("ends calls whose body does not arrive", async () => {
    const clock = new FakeClock(0);
    const { session, rejected } = await serve({ clock, timeoutMs: 5000 });
    const stream = open(session, cartToken);
    stream.write(frame().subarray(0, 100));
    const answered = answer(stream);
    expect((await ask(session, cartToken)).status).toBe("0");
    clock.advance(5000);
    expect(await answered).toMatchObject({ status: "4", message: "deadline exceeded" });
    expect(rejected).toEqual(["timeout"]);
  });

  it("keeps the client's deadline if it is shorter, and signs nothing after it", async () => {
    const clock = new FakeClock(0);
    const blocked = blockable();
    const { session, issued } = await serve({ clock, concurrency: 1, authority: blocked.authority });
    const first = ask(session, cartToken);
    await blocked.waiting(1);
    const second = ask(session, webToken, { "grpc-timeout": "200m" });
    await ask(session);
    clock.advance(200);
    expect((await second).status).toBe("4");
    blocked.release();
    expect((await first).status).toBe("0");
    expect((await ask(session, cartToken)).status).toBe("0");
    expect(issued.map(({ names }) => names[0])).toEqual(Array(2).fill("spiffe://td/ns/shop/sa/cart"));
    expect(blocked.calls).toBe(2);
  });

  it("rejects a malformed deadline", async () => {
    const { session } = await serve();
    expect((await ask(session, cartToken, { "grpc-timeout": "soon" })).status).toBe("3");
  });
});

/** An authority that signs only once it is released. */
function blockable() {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const state = { calls: 0 };
  const blocking = Object.create(authority) as CertificateAuthority;
  blocking.sign = async (leaf) => {
    state.calls++;
    await released;
    return authority.sign(leaf);
  };
  return {
    authority: blocking,
    release: () => release(),
    get calls() {
      return state.calls;
    },
    waiting: (count: number) => expect.poll(() => state.calls, { timeout: 5000 }).toBe(count),
  };
}

describe("under load", () => {
  it("one caller's requests neither displace nor delay another's", async () => {
    const blocked = blockable();
    const { session, calls, issued, rejected } = await serve({
      authority: blocked.authority,
      concurrency: 1,
      maxQueued: 100,
    });
    const greedy = Array.from({ length: 300 }, () => ask(session, cartToken));
    await expect.poll(() => rejected.length, { timeout: 10_000 }).toBe(199);
    const honest = ask(session, webToken);
    await expect.poll(() => rejected.length, { timeout: 5000 }).toBe(200);
    expect(calls.queueLength()).toBe(100);
    blocked.release();
    expect((await honest).status).toBe("0");
    const answers = await Promise.all(greedy);
    const refused = answers.filter(({ status }) => status !== "0");
    expect(refused).toHaveLength(200);
    for (const { status, message, pushback } of refused) {
      expect(status).toBe("8");
      expect(message).toBe("too many certificate requests are waiting");
      expect(Number(pushback)).toBeGreaterThanOrEqual(1000);
      expect(Number(pushback)).toBeLessThan(2000);
    }
    const place = issued.findIndex(({ names }) => names[0] === "spiffe://td/ns/shop/sa/web");
    expect(place).toBeGreaterThan(0);
    expect(place).toBeLessThanOrEqual(2);
  });

  it("signs 16 certificates at the same time, and the others in turn", async () => {
    const blocked = blockable();
    const { session, calls } = await serve({ authority: blocked.authority });
    const answers = Array.from({ length: 20 }, () => ask(session, cartToken));
    await expect.poll(() => [blocked.calls, calls.queueLength()], { timeout: 5000 }).toEqual([16, 4]);
    blocked.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill("0"));
  });

  it("does not sign for clients that have gone", async () => {
    const blocked = blockable();
    const { session, calls } = await serve({ authority: blocked.authority, concurrency: 1 });
    const first = ask(session, cartToken);
    await blocked.waiting(1);
    const streams = Array.from({ length: 20 }, () => open(session, cartToken));
    for (const stream of streams) stream.end(frame());
    await expect.poll(() => calls.queueLength(), { timeout: 5000 }).toBe(20);
    for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL);
    await ask(session);
    blocked.release();
    expect((await first).status).toBe("0");
    expect((await ask(session, webToken)).status).toBe("0");
    expect(blocked.calls).toBe(2);
  });

  it("bounds the bytes of a caller's unfinished requests, and not those of others", async () => {
    const { session, rejected } = await serve();
    const part = Buffer.concat([Buffer.of(0, 0, 1, 0x7f, 0xff), Buffer.alloc(90_000)]);
    const unfinished = Array.from({ length: 60 }, () => open(session, cartToken));
    const answers = unfinished.map(answer);
    for (const stream of unfinished) stream.write(part);
    // 46 of them fit in 4 MiB.
    await expect.poll(() => rejected.length, { timeout: 10_000 }).toBe(14);
    expect(rejected).toEqual(Array(14).fill("too-many-bodies"));
    expect((await ask(session, webToken)).status).toBe("0");
    for (const stream of unfinished) stream.close(http2.constants.NGHTTP2_CANCEL);
    await Promise.all(answers);
    expect((await ask(session, cartToken)).status).toBe("0");
  });
});

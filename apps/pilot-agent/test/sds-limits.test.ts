import http2 from "node:http2";
import { join } from "node:path";
import { connect, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { DiscoveryRequestSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { encodeFrame } from "@istiod/protobuf-wire";
import { mint } from "@istiod/ca/testing";
import { systemClock } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import { afterAll, describe, expect, it } from "vitest";
import { watchSecret } from "../src/certificates/file-secret.js";
import { fileToken } from "../src/credentials/file-token.js";
import { WorkloadIdentity } from "../src/certificates/workload-identity.js";
import { readOptions } from "../src/index.js";
import { readProxy } from "../src/proxy.js";
import { MAX_REQUEST_BYTES, MAX_STREAMS } from "../src/sds/sds-service.js";
import { put, scratch } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

const STREAM = "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets";

const SERVED = "file-root:served.pem";

/** Starts the SDS server of an agent whose certificates are files. */
async function serve(): Promise<{ socket: string; limits: string[]; messages: () => string[] }> {
  const directory = await scratch();
  await put(join(directory, "served.pem"), (await mint({ ca: true })).pem);
  const env = { FILE_MOUNTED_CERTS: "true", INSTANCE_IP: "127.0.0.1", POD_NAMESPACE: "shop" };
  const options = readOptions({ directory }, env);
  const { log, messages } = recordingLog();
  const limits: string[] = [];
  const identity = await WorkloadIdentity.prepare({
    proxy: await readProxy("sidecar", options, log),
    options,
    token: fileToken(join(directory, "token")),
    env,
    log,
    clock: systemClock,
    onSdsLimit: (reason) => limits.push(reason),
  });
  await identity.start();
  afterAll(() => identity.close());
  return { socket: join(directory, "var/run/secrets/workload-spiffe-uds/socket"), limits, messages };
}

interface Stream {
  readonly stream: http2.ClientHttp2Stream;
  /** gRPC status, HTTP/2 error code, or undefined while the stream is open. */
  readonly outcome: () => string | undefined;
}

function open(session: http2.ClientHttp2Session): Stream {
  const stream = session.request({ ":method": "POST", ":path": STREAM, "content-type": "application/grpc" });
  let outcome: string | undefined;
  const read = (headers: http2.IncomingHttpHeaders): void => {
    if (headers["grpc-status"] !== undefined) outcome = `status ${String(headers["grpc-status"])}`;
  };
  stream
    .on("error", () => undefined)
    .on("response", read)
    .on("trailers", read);
  stream.on("close", () => (outcome ??= `error ${stream.rstCode}`)).resume();
  return { stream, outcome: () => outcome };
}

function sessionTo(socket: string): http2.ClientHttp2Session {
  const session = http2.connect("http://agent", { createConnection: () => connect(socket) });
  afterAll(() => session.destroy());
  return session.on("error", () => undefined);
}

const names = (prefix: string, count: number, others: readonly string[] = []): Uint8Array =>
  encodeFrame(
    toBinary(
      DiscoveryRequestSchema,
      create(DiscoveryRequestSchema, {
        resourceNames: [...Array.from({ length: count }, (_, n) => `file-root:${prefix}${n}/root.pem`), ...others],
      }),
    ),
  );

describe("the SDS server", () => {
  it("rejects a request that is too large, before it has arrived", async () => {
    const { socket } = await serve();
    const { stream, outcome } = open(sessionTo(socket));
    stream.write(encodeFrame(Buffer.alloc(0), MAX_REQUEST_BYTES + 1));
    stream.write(Buffer.alloc(100));
    await expect.poll(outcome).toBe("status 8");
  });

  it("limits the names of all streams, and counts those of ended streams no more", async () => {
    const { socket, limits, messages } = await serve();
    const session = sessionTo(socket);
    const first = open(session);
    first.stream.write(names("a", 1000));
    const second = open(session);
    second.stream.write(names("b", 1000));
    await expect.poll(second.outcome).toBe("status 8");
    expect(first.outcome()).toBeUndefined();
    expect(limits).toEqual(["names"]);
    // The rejected request has taken no part of the allowance.
    const small = open(session);
    small.stream.write(names("d", 20, [SERVED]));
    await new Promise((resolve) => small.stream.once("data", resolve));
    expect(messages()).toContain("too many secrets are subscribed to: at most 1024");
    first.stream.close();
    // Its names are released when the server has seen the end of the stream.
    await expect
      .poll(async () => {
        const third = open(session);
        third.stream.write(names("c", 1000, [SERVED]));
        const responded = await new Promise((resolve) => {
          third.stream.once("data", () => resolve(true)).once("close", () => resolve(false));
        });
        third.stream.close();
        return responded;
      })
      .toBe(true);
  });

  it("logs once that a file is missing, however often it is looked for", async () => {
    const directory = await scratch();
    const { log, messages } = recordingLog();
    const clock = new FakeClock();
    const paths = { kind: "roots", path: join(directory, "none/root.pem") } as const;
    afterAll(watchSecret({ paths, quiet: 10, clock, log }, () => undefined));
    for (let n = 1; n <= 3; n++) {
      await expect.poll(() => clock.pending.includes(1000)).toBe(true);
      clock.advance(1000);
      await expect.poll(() => clock.pending.includes(10)).toBe(true);
      clock.advance(10);
    }
    await expect.poll(() => clock.pending.includes(1000)).toBe(true);
    expect(messages()).toEqual([
      expect.stringMatching(/^failed to generate secret from file: .*none\/root\.pem cannot be read/),
    ]);
  });

  it("limits the streams of a connection", async () => {
    const { socket } = await serve();
    const session = sessionTo(socket);
    await new Promise<void>((resolve) => session.once("remoteSettings", () => resolve()));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(MAX_STREAMS);
  });

  it("limits connections, and the established ones stay", async () => {
    const { socket, limits, messages } = await serve();
    const session = sessionTo(socket);
    const { stream, outcome } = open(session);
    stream.write(names("a", 1));
    await new Promise<void>((resolve) => session.ping(() => resolve()));
    let closed = 0;
    const sockets = Array.from({ length: 20 }, (): Socket => connect(socket));
    afterAll(() => sockets.forEach((each) => each.destroy()));
    for (const each of sockets)
      each
        .on("error", () => undefined)
        .on("close", () => closed++)
        .resume();
    await expect.poll(() => closed).toBe(13);
    expect(limits).toEqual(Array<string>(13).fill("connections"));
    expect(messages().filter((line) => line.startsWith("too many connections"))).toHaveLength(10);
    expect(outcome()).toBeUndefined();
    await new Promise<void>((resolve) => session.ping(() => resolve()));
  });
});

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:http2";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ClientStatusDiscoveryService } from "@istiod/envoy-api/envoy/service/status/v3/csds";
import {
  clusterType,
  createXdsServer,
  endpointType,
  peerKey,
  serve,
  staticSource,
  type Peer,
  type TlsOptions,
} from "@istiod/xds-server";
import { FakeClock, maxPendingConnections, pendingConnections } from "@istiod/runtime/testing";
import { fakeResource, idle, XdsClient } from "@istiod/xds-server/testing";
import { describe, expect, it, test } from "vitest";
import { onEach, setup } from "./harness.js";
import { monotonicClock } from "@istiod/runtime";

describe("a single-type service", () => {
  it.each(["delta", "sotw"] as const)("needs no type URL, and takes no other (%s)", async (variant) => {
    const { target } = await setup(variant, "http2", { [endpointType]: [fakeResource("a")] });
    const path = `/envoy.service.endpoint.v3.EndpointDiscoveryService/${variant === "delta" ? "Delta" : "Stream"}Endpoints`;
    const c = new XdsClient(target, { variant, path });
    c.send({ node: c.node, names: ["a"] });
    expect(await c.next()).toMatchObject({ typeUrl: endpointType, names: ["a"] });
    c.subscribe(clusterType);
    expect(await c.ended).toMatchObject({ code: Code.InvalidArgument });
  });
});

describe("additional services", () => {
  it.each(["http2", "connect"] as const)("are served on the same port and know the client (%s)", async (transport) => {
    const server = createXdsServer(staticSource({}));
    let peer: Peer | undefined;
    const { host, port } = await server.listen({
      port: 0,
      transport,
      routes: (router) =>
        router.service(ClientStatusDiscoveryService, {
          fetchClientStatus(_request, { values }) {
            peer = values.get(peerKey);
            return { config: [{ clientScope: "here" }] };
          },
        }),
    });
    const client = createClient(
      ClientStatusDiscoveryService,
      createGrpcTransport({ baseUrl: `http://${host}:${port}` }),
    );
    const response = await client.fetchClientStatus({}, { headers: { "x-test": "1" } });
    expect(response.config[0]?.clientScope).toBe("here");
    expect(peer).toMatchObject({ address: "127.0.0.1", headers: { "x-test": "1" } });
    await expect(
      createClient(
        ClientStatusDiscoveryService,
        createGrpcTransport({ baseUrl: `http://${host}:${port}/none` }),
      ).fetchClientStatus({}),
    ).rejects.toMatchObject({ code: Code.Unimplemented });
    await server.close({ graceMs: 0 });
  });

  it("are answered once their deadline has passed, and their work ends, also if the request is not complete", async () => {
    const server = createXdsServer(staticSource({}));
    const reasons: Code[] = [];
    const { host, port } = await server.listen({
      port: 0,
      routes: (router) =>
        router.service(ClientStatusDiscoveryService, {
          fetchClientStatus: (_request, { signal }) =>
            new Promise((resolve) => {
              signal.addEventListener("abort", () => {
                reasons.push(ConnectError.from(signal.reason).code);
                resolve({ config: [{ clientScope: "late" }] });
              });
            }),
        }),
    });
    const client = createClient(
      ClientStatusDiscoveryService,
      createGrpcTransport({ baseUrl: `http://${host}:${port}` }),
    );
    for (const timeout of ["100m", "0m", "50000u"])
      await expect(client.fetchClientStatus({}, { headers: { "grpc-timeout": timeout } })).rejects.toMatchObject({
        code: Code.DeadlineExceeded,
      });
    await expect.poll(() => reasons).toEqual(expect.arrayContaining([Code.DeadlineExceeded, Code.DeadlineExceeded]));
    expect(new Set(reasons)).toEqual(new Set([Code.DeadlineExceeded]));
    await expect(client.fetchClientStatus({}, { headers: { "grpc-timeout": "soon" } })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    // Longer than Node's timers, with which Connect would abort the handler at once.
    reasons.splice(0);
    const abort = new AbortController();
    const long = client.fetchClientStatus({}, { headers: { "grpc-timeout": "99999999H" }, signal: abort.signal });
    await expect(Promise.race([long, new Promise((resolve) => setTimeout(resolve, 200, "waits"))])).resolves.toBe(
      "waits",
    );
    abort.abort();
    await expect(long).rejects.toMatchObject({ code: Code.Canceled });
    await expect.poll(() => reasons).toEqual([Code.Canceled]);
    const session = connect(`http://${host}:${port}`);
    const stream = session.request({
      ":method": "POST",
      ":path": "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus",
      "content-type": "application/grpc",
      "grpc-timeout": "100m",
    });
    stream.write(Buffer.alloc(3));
    const status = await new Promise((resolve) => stream.on("response", (fields) => resolve(fields["grpc-status"])));
    expect(status).toBe(String(Code.DeadlineExceeded));
    session.destroy();
    await server.close({ graceMs: 0 });
  });
});

test("requests other than gRPC are rejected with an HTTP status", async () => {
  const server = await serve(staticSource({}), { port: 0 });
  const session = connect(`http://${server.host}:${server.port}`);
  const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
  const status = (headers: Record<string, string>) =>
    new Promise((resolve) => {
      const stream = session.request(headers);
      stream.on("response", (fields) => resolve(fields[":status"]));
      stream.resume().end();
    });
  expect(await status({ ":path": "/" })).toBe(404);
  expect(await status({ ":path": path })).toBe(405);
  expect(await status({ ":path": path, ":method": "POST", "content-type": "application/json" })).toBe(415);
  session.destroy();
  await server.close({ graceMs: 0 });
});

onEach(["http2", "connect"], (variant, transport) => {
  it("a request over the limit ends its stream with ResourceExhausted", async () => {
    const { client } = await setup(variant, transport, { [endpointType]: [] });
    const c = client();
    c.subscribe(
      endpointType,
      Array.from({ length: 100_000 }, (_, i) => `a rather long name of something that nobody has ${i}`),
    );
    expect(await c.ended).toMatchObject({ code: Code.ResourceExhausted });
  });

  it("the client's deadline is enforced", async () => {
    const { client } = await setup(variant, transport, { [clusterType]: [] });
    const c = client({ headers: { "grpc-timeout": "200m" } });
    c.subscribe(clusterType);
    await c.next();
    expect(await c.ended).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("close ends streams with Unavailable, spread over the grace period, and rejects new ones", async () => {
    const clock = new FakeClock();
    const { client, server } = await setup(variant, transport, { [clusterType]: [] }, { clock });
    const clients = Array.from({ length: 4 }, () => client());
    for (const c of clients) {
      c.subscribe(clusterType);
      await c.accept(clusterType);
    }
    const ends = Promise.all(clients.map((c) => c.ended));
    const closed = server.close({ graceMs: 400 });
    const open = [server.connections().length];
    for (let step = 0; step < 3; step++) {
      await idle();
      clock.advance(50);
      await idle();
      open.push(server.connections().length);
    }
    expect(open).toEqual([3, 2, 1, 0]);
    await closed;
    expect((await ends).map((error) => error?.code)).toEqual(Array(4).fill(Code.Unavailable));
    const late = client();
    late.subscribe(clusterType);
    expect(await late.ended).toMatchObject({ code: Code.Unavailable });
  });
});

/** Type of an HTTP/2 frame, in the fourth byte of its header (RFC 9113, 6.7). */
const pingFrame = 6;

test("a connection on which the client does not answer a ping is dropped", async () => {
  const source = staticSource({ [clusterType]: [] });
  const server = createXdsServer(source);
  const { host, port } = await server.listen({ port: 0, keepAlive: { intervalMs: 50, timeoutMs: 100 } });
  // A proxy between client and server that can stop forwarding.
  const held: (() => void)[] = [];
  let pings = 0;
  const proxy = createServer((downstream) => {
    const upstream = createConnection({ host, port });
    downstream.pipe(upstream).pipe(downstream);
    held.push(() => downstream.unpipe(upstream));
    upstream.on("data", (bytes: Buffer) => (pings += bytes[3] === pingFrame ? 1 : 0));
    for (const socket of [downstream, upstream])
      socket.on("error", () => undefined).on("close", () => (downstream.destroy(), upstream.destroy()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const c = new XdsClient(
    { host: "127.0.0.1", port: (proxy.address() as { port: number }).port },
    { variant: "delta" },
  );
  c.subscribe(clusterType);
  await c.accept(clusterType);
  await expect.poll(() => pings, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
  expect(source.clients).toHaveLength(1);
  for (const hold of held) hold();
  await expect.poll(() => source.clients, { timeout: 5000 }).toEqual([]);
  expect(await c.ended).toBeDefined();
  await server.close({ graceMs: 0 });
  proxy.close();
});

test("a connection whose client has sent GOAWAY is dropped if a call does not end and nothing is received", async () => {
  const server = createXdsServer(staticSource({}));
  const calls = new Map([["/test.Service/Never", () => undefined]]);
  const { host, port } = await server.listen({ port: 0, calls, keepAlive: { intervalMs: 50, timeoutMs: 200 } });
  const session = connect(`http://${host}:${port}`).on("error", () => undefined);
  const headers = { ":method": "POST", ":path": "/test.Service/Never", "content-type": "application/grpc" };
  session.request(headers).on("error", () => undefined);
  await once(session, "remoteSettings");
  session.goaway();
  await expect.poll(() => session.destroyed, { timeout: 10_000 }).toBe(true);
  await server.close({ graceMs: 0 });
});

test("a connection that receives data other than the ping's ACK is kept", async () => {
  const server = createXdsServer(staticSource({}));
  const { host, port } = await server.listen({ port: 0, keepAlive: { intervalMs: 50, timeoutMs: 200 } });
  const socket = createConnection({ host, port });
  let closed = false;
  socket
    .on("error", () => undefined)
    .on("close", () => (closed = true))
    .resume();
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const windowUpdate = Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings]));
  let sent = 0;
  const sending = setInterval(() => (sent += socket.write(windowUpdate) ? 1 : 0), 20);
  // 50 updates take 1 s, four times as long as a connection without data is kept.
  await expect.poll(() => sent, { timeout: 10_000 }).toBeGreaterThanOrEqual(50);
  expect(closed).toBe(false);
  clearInterval(sending);
  await expect.poll(() => closed, { timeout: 5000 }).toBe(true);
  await server.close({ graceMs: 0 });
});

test("a connection receives GOAWAY at the maximum age and is closed after the grace period", async () => {
  const server = createXdsServer(staticSource({ [clusterType]: [] }));
  const address = await server.listen({ port: 0, maxAge: { ms: 100, graceMs: 50 } });
  const c = new XdsClient(address, { variant: "delta" });
  c.subscribe(clusterType);
  await c.accept(clusterType);
  expect(await c.ended).toMatchObject({
    code: Code.Unavailable,
    rawMessage: "max connection age reached, closing stream",
  });
  await expect.poll(() => server.connections().length, { timeout: 5000 }).toBe(0);
  await server.close({ graceMs: 0 });
});

test("the number of concurrent streams per connection is limited", async () => {
  const server = createXdsServer(staticSource({}));
  const { host, port } = await server.listen({ port: 0, maxStreams: 7 });
  const session = connect(`http://${host}:${port}`);
  const [settings] = (await once(session, "remoteSettings")) as [{ maxConcurrentStreams: number }];
  expect(settings.maxConcurrentStreams).toBe(7);
  session.destroy();
  await server.close({ graceMs: 0 });
});

test("a timer that exceeds Node's limit does not fire immediately", async () => {
  let fired = false;
  const stop = monotonicClock.after(2 ** 31 + 1000, () => (fired = true));
  // Node fires a timer beyond its limit after 1 ms, so before one of 2 ms that is set later.
  await new Promise((resolve) => setTimeout(resolve, 2));
  stop();
  expect(fired).toBe(false);
});

test("a port in use is an error, and the server continues", async () => {
  const server = createXdsServer(staticSource({}));
  const { port } = await server.listen({ port: 0 });
  await expect(server.listen({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await server.close({ graceMs: 0 });
});

describe("TLS", () => {
  it("requests a client certificate, does not require it, and passes it to the source", async ({ skip }) => {
    if (spawnSync("openssl", ["version"]).status !== 0) return skip("there is no openssl to make certificates with");
    const pki = makePki();
    const peers: Peer[] = [];
    const source = staticSource({ [clusterType]: [] });
    const open = source.open.bind(source);
    source.open = (node, peer) => (peers.push(peer), open(node, peer));
    const server = createXdsServer(source);
    const address = await server.listen({ port: 0, tls: { ...pki.server, clientCa: pki.ca } });
    const call = async (tls: object): Promise<unknown> => {
      const c = new XdsClient(
        { host: "localhost", port: address.port, tls: { ca: pki.ca, servername: "localhost", ...tls } },
        { variant: "delta" },
      );
      c.subscribe(clusterType);
      const outcome = await Promise.race([c.next().catch((error: unknown) => error), c.ended]);
      c.close();
      return outcome;
    };
    await call({});
    await call({ cert: pki.client.cert, key: pki.client.key });
    await call({ cert: pki.stranger.cert, key: pki.stranger.key });
    // Some releases of Node 24 and 26 return the leaf without the chain (https://github.com/nodejs/node/issues/65579).
    expect(peers.map(({ tls }) => [tls?.certificates.slice(0, 1).length, tls?.verified])).toEqual([
      [0, false],
      [1, true],
      [1, false],
    ]);
    expect(peers[1]?.tls?.serverName).toBe("localhost");
    expect(Buffer.from(peers[1]?.tls?.certificates[0] ?? []).includes("spiffe://cluster.local/ns/a/sa/b")).toBe(true);

    address.renew({ ...pki.stranger, clientCa: pki.ca });
    expect(await call({})).toBeInstanceOf(Error);
    await server.close({ graceMs: 0 });
  });
});

/** A CA; a server's and a client's certificate from it; and one that signed itself. */
function makePki(): { ca: string; server: TlsOptions; client: TlsOptions; stranger: TlsOptions } {
  const directory = mkdtempSync(join(tmpdir(), "pki-"));
  const file = (name: string) => join(directory, name);
  const openssl = (...args: string[]) =>
    expect(spawnSync("openssl", args, { cwd: directory }).stderr.toString() + args[0]).toContain(args[0]);
  const read = (name: string) => readFileSync(file(name), "utf8");
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  try {
    openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca");
    const issue = (name: string, san: string): TlsOptions => {
      openssl(
        "req",
        "-x509",
        ...newKey,
        "-keyout",
        `${name}.key`,
        "-out",
        `${name}.pem`,
        "-subj",
        `/CN=${name}`,
        "-addext",
        `subjectAltName=${san}`,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
      );
      return { cert: read(`${name}.pem`), key: read(`${name}.key`) };
    };
    const server = issue("server", "DNS:localhost");
    const client = issue("client", "URI:spiffe://cluster.local/ns/a/sa/b");
    openssl("req", "-x509", ...newKey, "-keyout", "stranger.key", "-out", "stranger.pem", "-subj", "/CN=localhost");
    const stranger = { cert: read("stranger.pem"), key: read("stranger.key") };
    return { ca: read("ca.pem"), server, client, stranger };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("a thousand clients connect while the event loop is busy", async (context) => {
  if (maxPendingConnections() < 1024) context.skip("net.core.somaxconn is below 1024");
  const server = createXdsServer(staticSource({}));
  const { host, port } = await server.listen({ port: 0 });
  expect(await pendingConnections({ host, port }, 1000)).toBe(1000);
  await server.close({ graceMs: 0 });
});

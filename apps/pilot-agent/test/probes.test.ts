import http, { type IncomingHttpHeaders } from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { issueServingCertificate } from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";
import { ReadinessProbeSchema } from "@istiod/istio-api/networking/v1alpha3/workload_group";
import { afterAll, describe, expect, it } from "vitest";
import { silentLog } from "../src/log.js";
import { appProbes } from "../src/probes/app-probes.js";
import { HealthCheck } from "../src/probes/health-check.js";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { Health } from "../src/xds-proxy/agent-resources.js";
import { FakeIstiod, freePort } from "./fakes.js";

async function web(listener: http.RequestListener): Promise<number> {
  const server = http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts a gRPC health server. */
async function grpcHealth(status: number, code = "0"): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = http2.createServer().on("stream", (stream, headers) => {
    const pieces: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => pieces.push(bytes));
    stream.on("end", () => {
      asked.push(`${headers[":path"]} ${Buffer.concat(pieces).subarray(7).toString()}`);
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": code }));
      stream.end(encodeFrame(Uint8Array.from([8, status])));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => server.close());
  return { port: (server.address() as AddressInfo).port, asked };
}

describe("application probes", () => {
  const probes = (all: Record<string, JsonValue>, localAddress?: string, more: object = {}) => {
    const answer = appProbes({
      text: JSON.stringify(all),
      host: "127.0.0.1",
      statusPort: 15020,
      ...(localAddress ? { localAddress } : {}),
      ...more,
      log: silentLog,
    });
    return (path: string, headers: IncomingHttpHeaders = { host: "10.0.0.1:15020" }) => answer(path, headers);
  };
  const PATH = "/app-health/app/readyz";

  it("forward headers to the application, and return its response", async () => {
    let seen: http.IncomingMessage | undefined;
    const port = await web((request, response) => {
      seen = request;
      response.writeHead(418).end("teapot");
    });
    const answer = await probes({ [PATH]: { httpGet: { path: "ready?x=1", port }, timeoutSeconds: 1 } }, "127.0.0.6")(
      PATH,
      { host: "10.0.0.1:15020", "x-probe": "1" },
    );
    expect(answer).toEqual({ status: 418, body: "teapot" });
    expect(seen).toMatchObject({ url: "/ready?x=1", headers: { host: `10.0.0.1:${port}`, "x-probe": "1" } });
    expect(seen!.socket.remoteAddress ?? "127.0.0.6").toBe("127.0.0.6");
  });

  it("follow redirects on the same host, and accept those to other hosts", async () => {
    const port = await web((request, response) => {
      if (request.url === "/a") response.writeHead(302, { location: "/b" }).end();
      else if (request.url === "/loop") response.writeHead(302, { location: "/loop" }).end();
      else if (request.url === "/away") response.writeHead(302, { location: "http://example.com/" }).end();
      else response.end(`at ${request.url}`);
    });
    const ask = (path: string) => probes({ [PATH]: { httpGet: { path, port } } })(PATH);
    expect(await ask("/a")).toEqual({ status: 200, body: "at /b" });
    expect(await ask("/away")).toEqual({ status: 200, body: "" });
    expect(await ask("/loop")).toEqual({ status: 500, body: "" });
  });

  it("do not verify certificates", async () => {
    const istiod = await FakeIstiod.start();
    const { key, cert } = await issueServingCertificate(istiod.authority, ["elsewhere"], 60_000, Date.now());
    const server = https.createServer({ key, cert }, (_, response) => response.end("ok"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    expect(
      await probes({ [PATH]: { httpGet: { port: (server.address() as AddressInfo).port, scheme: "HTTPS" } } })(PATH),
    ).toEqual({ status: 200, body: "ok" });
  });

  it("offer HTTP/2 to servers with TLS, unless it is switched off", async () => {
    const istiod = await FakeIstiod.start();
    const { key, cert } = await issueServingCertificate(istiod.authority, ["elsewhere"], 60_000, Date.now());
    const server = http2.createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
      if (request.url === "/a") return void response.writeHead(302, { location: "/b" }).end();
      response.writeHead(request.url === "/b" ? 200 : 503);
      response.end(`${request.httpVersion} ${request.authority || request.headers.host} ${request.headers["x-probe"]}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    const { port } = server.address() as AddressInfo;
    const ask = (path: string, more: object = {}) =>
      probes(
        { [PATH]: { httpGet: { path, port, scheme: "HTTPS" } } },
        undefined,
        more,
      )(PATH, {
        host: "10.0.0.1:15020",
        "x-probe": "1",
      });
    expect(await ask("/a")).toEqual({ status: 200, body: `2.0 10.0.0.1:${port} 1` });
    expect(await ask("/c")).toEqual({ status: 503, body: `2.0 10.0.0.1:${port} 1` });
    expect(await ask("/a", { offersHttp2: false })).toEqual({ status: 200, body: `1.1 10.0.0.1:${port} 1` });
  });

  it("open a TCP connection, or check a gRPC service's health", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    const closed = await freePort();
    const [good, bad, absent] = [await grpcHealth(1), await grpcHealth(2), await grpcHealth(1, "12")];
    const ask = async (probe: JsonValue) => (await probes({ [PATH]: probe })(PATH))?.status;
    expect(await ask({ tcpSocket: { port: (server.address() as AddressInfo).port } })).toBe(200);
    expect(await ask({ tcpSocket: { port: closed } })).toBe(500);
    expect(await ask({ grpc: { port: good.port, service: "cart" } })).toBe(200);
    expect(await ask({ grpc: { port: bad.port } })).toBe(500);
    expect(await ask({ grpc: { port: absent.port } })).toBe(500);
    expect(await ask({ grpc: { port: closed } })).toBe(500);
    expect(good.asked).toEqual(["/grpc.health.v1.Health/Check cart"]);
  });

  it.each([
    ["compressed", Buffer.from([1, 0, 0, 0, 2, 8, 1])],
    ["too long", Buffer.from([0, 0xff, 0xff, 0xff, 0xff])],
  ])("fail if the gRPC response is %s", async (_, response) => {
    const server = http2.createServer().on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect((await probes({ [PATH]: { grpc: { port } } })(PATH))?.status).toBe(500);
  });

  it("time out", async () => {
    const port = await web(() => undefined);
    expect(await probes({ [PATH]: { httpGet: { port }, timeoutSeconds: 0.05 } })(PATH)).toEqual({
      status: 500,
      body: "",
    });
  });

  it("are limited to the configured ones", async () => {
    const ask = probes({});
    expect((await ask("/app-health/app/livez"))?.status).toBe(400);
    expect(ask("/other")).toBeUndefined();
    for (const bad of [
      "{",
      '{"/x": {}}',
      '{"/app-health/a/livez": {}}',
      '{"/app-health/a/livez": {"tcpSocket": {"port": "http"}}}',
      '{"/app-health/a/livez": {"tcpSocket": {"port": 1}, "grpc": {"port": 1}}}',
    ]) {
      expect(() => appProbes({ text: bad, host: "", statusPort: 1, log: silentLog })).toThrow("ISTIO_KUBE_APP_PROBERS");
    }
  });
});

describe("health checks of an application", () => {
  function check(probe: JsonValue, more: { proxyReady?: () => Promise<void> } = {}) {
    const clock = new FakeClock();
    const reports: Health[] = [];
    const health = new HealthCheck({
      probe: fromJson(ReadinessProbeSchema, probe),
      host: "127.0.0.1",
      report: (state) => reports.push(state),
      clock,
      ...more,
    });
    health.start();
    const tick = async (): Promise<void> => {
      await expect.poll(() => clock.pending.length).toBe(1);
      clock.advance(clock.pending[0]!);
      await expect.poll(() => clock.pending.length).toBe(1);
    };
    return { clock, reports, health, tick };
  }

  it("report the first state and each change, after the threshold of consecutive results", async () => {
    let status = 200;
    const port = await web((request, response) =>
      response.writeHead(request.headers["x-a"] === "b" ? status : 400).end(),
    );
    const { clock, reports, health, tick } = check({
      initialDelaySeconds: 3,
      periodSeconds: 7,
      failureThreshold: 2,
      successThreshold: 1,
      httpGet: { path: "/ok", port, httpHeaders: [{ name: "X-A", value: "b" }] },
    });
    expect(clock.pending).toEqual([3000]);
    await tick();
    expect(reports).toEqual([{ healthy: true }]);
    expect(clock.pending).toEqual([7000]);
    status = 503;
    await tick();
    expect(reports).toHaveLength(1);
    await tick();
    expect(reports[1]).toEqual({ healthy: false, reason: "HTTP status 503" });
    await tick();
    expect(reports).toHaveLength(2);
    status = 302;
    await tick();
    expect(reports[2]).toEqual({ healthy: true });
    health.stop();
    expect(clock.pending).toEqual([]);
  });

  it("report unhealthy while the proxy is not ready", async () => {
    let ready = false;
    const { reports, tick } = check(
      { exec: { command: ["true"] } },
      {
        proxyReady: async () => {
          if (!ready) throw new Error("Envoy is not live");
        },
      },
    );
    await tick();
    ready = true;
    await tick();
    expect(reports).toEqual([{ healthy: false, reason: "Envoy is not live" }, { healthy: true }]);
  });

  it("run commands and gRPC probes", async () => {
    const { port } = await grpcHealth(1);
    for (const [probe, healthy] of [
      [{ exec: { command: ["sh", "-c", "echo no >&2; exit 3"] } }, false],
      [{ grpc: { port } }, true],
    ] as [JsonValue, boolean][]) {
      const { reports, tick } = check(probe);
      await tick();
      expect(reports[0]?.healthy).toBe(healthy);
      if (!healthy) expect(reports[0]).toMatchObject({ reason: "sh: no" });
    }
  });
});

import http from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { FakeClock } from "@istiod/runtime/testing";
import { afterAll, describe, expect, it } from "vitest";
import { ServedCertificate } from "../src/certificates/served-certificate.js";
import type { Secret } from "../src/certificates/secret.js";
import { LimitedLog } from "@istiod/logging";
import { Shares } from "../src/shares.js";
import { MetricLines } from "../src/status/metric-lines.js";
import { agentMetrics } from "../src/status/metrics.js";
import type { StatusServerOptions } from "../src/status/status-server.js";
import { FakeIstiod } from "./fakes.js";
import { recordingLog } from "./recording-log.js";
import { startStatusServer } from "./status-server.js";

async function web(listener: http.RequestListener): Promise<number> {
  const server = http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function status(more: Partial<StatusServerOptions> = {}) {
  const metrics = agentMetrics();
  const actions: string[] = [];
  const server = await startStatusServer({
    quit: () => actions.push("quit"),
    drain: () => actions.push("drain"),
    metrics,
    ...more,
  });
  /** Sends bytes and returns what the server sends until it closes the connection. */
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
      let received = "";
      socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
      socket.on("error", reject).on("close", () => resolve(received));
    });
  const send = async (line: string, headers: Record<string, string> = {}): Promise<number> => {
    const all = { host: "localhost", connection: "close", ...headers };
    const text = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return Number((await raw(`${line} HTTP/1.1\r\n${text.join("")}\r\n`)).split(" ")[1]);
  };
  const rejected = async () =>
    (await metrics.statusRejected.get()).values.map(({ labels, value }) => [labels.reason, value]);
  const scrape = async (headers: Record<string, string> = {}): Promise<string> =>
    (await fetch(`http://127.0.0.1:${server.port}/stats/prometheus`, { headers })).text();
  return { server, send, raw, actions, rejected, scrape, metrics };
}

describe("requests that change state", () => {
  it.each([
    ["localhost:15020", {}, 200],
    ["127.0.0.1:15020", {}, 200],
    ["[::1]:15020", {}, 200],
    ["localhost:15020", { origin: "http://localhost:15020" }, 200],
    ["evil.example:15020", {}, 403],
    ["evil.example", { origin: "http://evil.example" }, 403],
    ["localhost:15020", { origin: "http://evil.example" }, 403],
    ["localhost:15020", { origin: "null" }, 403],
    ["localhost:15020", { "sec-fetch-site": "cross-site" }, 403],
    ["localhost.evil.example", {}, 403],
  ])("to %s with %j get %i", async (host, headers: Record<string, string>, expected) => {
    const { send, actions } = await status();
    expect(await send("POST /quitquitquit", { host, ...headers })).toBe(expected);
    expect(await send("POST /drain", { host, ...headers })).toBe(expected);
    expect(await send("GET /debug/ndsz", { host, ...headers })).toBe(expected);
    expect(actions).toEqual(expected === 200 ? ["quit", "drain"] : []);
  });

  it.each([
    "/healthz/ready/../../quitquitquit",
    "/healthz/ready/%2e%2e/%2E%2E/quitquitquit",
    "/./quitquitquit",
    "//quitquitquit",
    "/healthz\\..\\quitquitquit",
    "http://localhost/quitquitquit",
  ])("are not reached by %s", async (path) => {
    const { send, actions } = await status();
    expect(await send(`POST ${path}`)).toBe(400);
    expect(actions).toEqual([]);
  });

  it("need POST", async () => {
    const { send, actions } = await status();
    for (const method of ["GET", "PUT", "HEAD", "DELETE"]) expect(await send(`${method} /quitquitquit`)).toBe(405);
    expect(actions).toEqual([]);
  });
});

describe("connections to the status port", () => {
  it("are limited in number, and the client with the most loses its oldest", async () => {
    const { server, rejected } = await status({ limits: { connections: 4 } });
    const closed: number[] = [];
    const sockets: Socket[] = [];
    for (let n = 0; n < 6; n++) {
      const localAddress = n === 0 ? "127.0.0.2" : "127.0.0.1";
      const socket = connect({ port: server.port, host: "127.0.0.1", localAddress });
      sockets.push(socket.on("close", () => closed.push(n)).on("error", () => undefined));
      await new Promise((resolve) => socket.once("connect", resolve));
    }
    await expect.poll(() => closed.sort()).toEqual([1, 2]);
    expect(await rejected()).toEqual([["connections", 2]]);
    for (const socket of sockets) socket.destroy();
  });

  it("with headers that are too large, a body, or two framings are closed", async () => {
    const { raw } = await status();
    expect(await raw(`GET / HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(20_000)}\r\n\r\n`)).toContain("431");
    expect(await raw("GET /healthz/ready HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\nx")).toContain(
      "200 OK",
    );
    expect(
      await raw("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ).toContain("400");
  });
});

describe("metrics of a hostile application", () => {
  const envoyLines = "# TYPE envoy_a counter\nenvoy_a 1\n";
  const withApplication = async (listener: http.RequestListener, more: Partial<StatusServerOptions> = {}) => {
    const envoy = await web((_, response) => response.end(envoyLines));
    const port = await web(listener);
    return status({
      envoyMetrics: `http://127.0.0.1:${envoy}/stats/prometheus`,
      applications: [{ port, path: "/m" }],
      ...more,
    });
  };

  it.each<[string, http.RequestListener]>([
    ["endless", (_, response) => void pump(response, Buffer.from("a_metric 1\n".repeat(1000)))],
    ["one endless line", (_, response) => void pump(response, Buffer.alloc(65_536, "x"))],
    ["silent", () => undefined],
    ["slow", (_, response) => void response.write("a_metric 1\n")],
    [
      "a gzip bomb",
      (_, response) => response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(20e6, "a"))),
    ],
    ["binary", (_, response) => response.end(Buffer.from([0, 255, 254, 10, 0, 13, 10, 200]))],
    ["redirected to another port", (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
    ["redirected forever", (_, response) => response.writeHead(302, { location: "/again" }).end()],
    [
      "cut off",
      (_, response) => response.writeHead(200, { "content-length": 100 }).write("a 1\n", () => response.destroy()),
    ],
  ])("that are %s leave Envoy's alone", async (_, listener) => {
    const { scrape, metrics } = await withApplication(listener);
    const body = await scrape({ "x-prometheus-scrape-timeout-seconds": "2" });
    expect(body).toContain(envoyLines);
    // Whole lines that an application sent before it failed may follow.
    const others = new Set(body.split(envoyLines)[1]?.split("\n"));
    for (const line of others) expect(["a_metric 1", "a 1", ""]).toContain(line);
    expect((await metrics.scrapeFailures.get()).values).toMatchObject([{ labels: { type: "application" }, value: 1 }]);
  });

  it("are reduced to well-formed lines", async () => {
    const good = [
      "# HELP app_a some help\n",
      "# TYPE app_a counter\n",
      'app_a{b="c",d="\\"\\\\\\n{}",} 1.5e+3 1700000000000\n',
      "app_inf +Inf\n",
      "app_nan NaN\n",
      "app_e{}1\n",
    ];
    const bad = [
      "app_x\n",
      "app x y\n",
      'app{a="b} 1\n',
      "1app 1\n",
      "app 1 x\n",
      "app_b 0x1g\n",
      "app_c 1\u0000\n",
      "app_d1\n",
      "app_e{}\n",
    ];
    const dropped = ["# TYPE app_a bogus\n", "# EOF\n", "# a comment\n"];
    const { scrape } = await withApplication((_, response) => response.end([...bad, ...dropped, ...good].join("")));
    expect((await scrape()).split(envoyLines)[1]).toBe(good.join(""));
  });

  it("are bounded in concurrent scrapes, half of them for one client", async () => {
    const { server, rejected } = await withApplication(() => undefined, { limits: { scrapes: 4 } });
    const abort = new AbortController();
    const codes: number[] = [];
    const scrapes = Array.from({ length: 6 }, () =>
      fetch(`http://127.0.0.1:${server.port}/metrics`, { signal: abort.signal })
        .then(async (response) => {
          codes.push(response.status);
          await response.text();
        })
        .catch(() => undefined),
    );
    await expect.poll(() => codes.sort()).toEqual([200, 200, 503, 503, 503, 503]);
    expect(await rejected()).toEqual([["scrapes", 4]]);
    abort.abort();
    await Promise.all(scrapes);
  });

  it("are filtered independently of chunks, in time linear in their size", () => {
    const text = Buffer.from(`a 1\nb{c="d"} 2\r\n${"y".repeat(70_000)}\nc 3`);
    for (const size of [1, 7, 1000, text.length]) {
      const lines = new MetricLines();
      let result = "";
      for (let at = 0; at < text.length; at += size) result += lines.push(text.subarray(at, at + size));
      expect(result + lines.end()).toBe('a 1\nb{c="d"} 2\nc 3\n');
      expect(lines.dropped).toBe(1);
    }
    const cost = (line: string): number => {
      const lines = new MetricLines();
      const start = process.cpuUsage();
      lines.push(Buffer.from(`${line}\n`.repeat(20)));
      const { user, system } = process.cpuUsage(start);
      return user + system;
    };
    const yardstick = cost(`a{${'b="c",'.repeat(9000)}} 1`);
    for (const line of [
      `a{${'b="c",'.repeat(9000)}`,
      `a{${" ".repeat(60_000)}`,
      `a{b="${"\\".repeat(60_000)}`,
      `a${" ".repeat(60_000)}x`,
    ])
      expect(cost(line)).toBeLessThan(20 * yardstick + 50_000);
  });
});

/** Writes the same bytes until the client leaves. */
async function pump(response: http.ServerResponse, bytes: Buffer): Promise<void> {
  while (!response.destroyed) await new Promise((resolve) => response.write(bytes, resolve));
}

describe("limits", () => {
  it("give one client half, and count an IPv6 network as one", () => {
    const shares = new Shares(4);
    const [first, second] = [shares.take("2001:db8::1"), shares.take("2001:db8:0:0:ffff::2")];
    expect([first, second].every((release) => release !== undefined)).toBe(true);
    expect(shares.take("2001:db8::3")).toBeUndefined();
    expect(shares.take("10.0.0.1")).toBeDefined();
    first?.();
    first?.();
    expect(shares.inUse).toBe(2);
    expect(shares.take("2001:db8::3")).toBeDefined();
  });

  it("bound log lines and tell how many were suppressed", () => {
    const clock = new FakeClock();
    const { log, messages } = recordingLog();
    const limited = new LimitedLog(log, clock, 2);
    for (let n = 0; n < 5; n++) limited.write("warn", `event ${n}`);
    clock.advance(60_000);
    limited.write("warn", "event 5");
    expect(messages()).toEqual(["event 0", "event 1", "event 5 (3 similar messages suppressed)"]);
  });
});

it("readiness fails once the served certificate has expired", async () => {
  const istiod = await FakeIstiod.start();
  let deliver: (secret: Secret) => void = () => undefined;
  const clock = new FakeClock(Date.now());
  const served = new ServedCertificate(
    {
      watch: (_, listener) => {
        deliver = listener;
        return () => undefined;
      },
    },
    clock,
  );
  served.checkValid();
  served.watch("default", () => undefined);
  const { issueServingCertificate } = await import("@istiod/ca");
  const issue = async () => {
    const { cert, key } = await issueServingCertificate(istiod.authority, ["a"], 60_000, clock.now());
    deliver({ kind: "certificate", chain: cert, key });
  };
  await issue();
  served.checkValid();
  clock.advance(3_600_000);
  const { raw } = await status({ ready: async () => served.checkValid() });
  expect(await raw("GET /healthz/ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).toMatch(
    /503[^]*workload certificate expired at \d{4}-\d\d-\d\dT/,
  );
  await issue();
  served.checkValid();
});

import http from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { FakeClock } from "@istiod/runtime/testing";
import { afterAll, describe, expect, it } from "vitest";
import type { EnvoyExit } from "../src/envoy/process.js";
import { EnvoyReadiness } from "../src/envoy/readiness.js";
import { terminateEnvoy, type TerminationOptions } from "../src/envoy/termination.js";
import { silentLog } from "../src/log.js";
import { agentMetrics, exportCertificateExpiry } from "../src/status/metrics.js";
import type { StatusServerOptions } from "../src/status/status-server.js";
import { startStatusServer } from "./status-server.js";

async function web(
  answer: (path: string, method: string) => string | number,
): Promise<{ address: string; port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const what = answer(request.url ?? "", request.method ?? "");
    if (typeof what === "number") response.writeHead(what).end();
    else response.end(what);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => server.close());
  return { address: "127.0.0.1", port: (server.address() as AddressInfo).port, asked };
}

async function status(more: Partial<StatusServerOptions> = {}) {
  const metrics = agentMetrics();
  exportCertificateExpiry(metrics, () => 42);
  const server = await startStatusServer({ metrics, ...more });
  const ask = async (path: string, init?: RequestInit, at = "127.0.0.1") => {
    const response = await fetch(`http://${at}:${server.port}${path}`, init);
    return { status: response.status, body: await response.text() };
  };
  return { ask, metrics };
}

describe("the status server", () => {
  it("reports readiness with a reason", async () => {
    let missing: string | undefined = "no configuration from istiod yet";
    const { ask } = await status({
      ready: async () => {
        if (missing) throw new Error(missing);
      },
    });
    expect(await ask("/healthz/ready")).toEqual({ status: 503, body: "no configuration from istiod yet\n" });
    missing = undefined;
    expect((await ask("/healthz/ready")).status).toBe(200);
  });

  it("quits and drains on POST only", async () => {
    const done: string[] = [];
    const { ask } = await status({ quit: () => done.push("quit"), drain: () => done.push("drain") });
    for (const path of ["/quitquitquit", "/drain"]) expect((await ask(path)).status).toBe(405);
    expect(done).toEqual([]);
    expect(await ask("/drain", { method: "POST" })).toEqual({ status: 200, body: "OK" });
    expect(await ask("/quitquitquit", { method: "POST" })).toEqual({ status: 200, body: "OK" });
    expect(done).toEqual(["drain", "quit"]);
  });

  it("merges metrics, even if a scrape fails", async () => {
    const envoy = await web((path) => `envoy_x 1\n# asked ${path}\n`);
    const [good, bad] = [await web(() => "app_a 1\n# EOF\n"), await web(() => 500)];
    const { ask, metrics } = await status({
      envoyMetrics: `http://127.0.0.1:${envoy.port}/stats/prometheus`,
      applications: [
        { port: good.port, path: "/m" },
        { port: bad.port, path: "/m" },
      ],
    });
    const { body } = await ask("/stats/prometheus?usedonly");
    expect(body).toContain('istio_agent_cert_expiry_seconds{resource_name="default"} 42');
    expect(body).toContain("envoy_x 1\n# asked /stats/prometheus?usedonly\napp_a 1\n");
    expect(body).not.toContain("# EOF");
    expect((await metrics.scrapeFailures.get()).values).toMatchObject([{ labels: { type: "application" }, value: 1 }]);
    expect((await ask("/metrics")).body).toContain("istio_agent_scrapes_total 2");
  });

  it("serves metrics to localhost only with METRICS_LOCALHOST_ACCESS_ONLY", async ({ skip }) => {
    const address = Object.values(networkInterfaces())
      .flat()
      .find((each) => each !== undefined && !each.internal && each.family === "IPv4")?.address;
    if (address === undefined) return skip("this machine has no address other than loopback");
    const { ask } = await status({ address: "0.0.0.0", localMetricsOnly: true });
    expect((await ask("/stats/prometheus")).status).toBe(200);
    const { status: refused } = await ask("/stats/prometheus", {}, address);
    expect(refused).toBe(403);
    const open = await status({ address: "0.0.0.0" });
    expect((await open.ask("/stats/prometheus", {}, address)).status).toBe(200);
  });

  it("serves the name table", async () => {
    const { ask } = await status({ names: () => ({ table: { a: { ips: ["1.1.1.1"] } } }) });
    expect(JSON.parse((await ask("/debug/ndsz")).body)).toEqual({ table: { a: { ips: ["1.1.1.1"] } } });
  });
});

describe("readiness", () => {
  it("requires clusters and listeners, a live server and started workers", async () => {
    let stats: Record<string, number> = {};
    const admin = await web(() =>
      Object.entries(stats)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join(""),
    );
    const readiness = new EnvoyReadiness(admin);
    const check = () =>
      readiness.check().then(
        () => "ready",
        (error: Error) => error.message,
      );
    expect(await check()).toContain("config not received from XDS server (is Istiod running?)");
    stats = { "cluster_manager.cds.update_success": 1 };
    expect(await check()).toContain(
      "config received from XDS server, but not all of it: cds updates: 1 successful, 0 rejected; lds updates: 0 successful, 0 rejected",
    );
    stats = { "cluster_manager.cds.update_success": 1, "listener_manager.lds.update_rejected": 2 };
    expect(await check()).toContain("config rejected by Envoy");
    stats = { "cluster_manager.cds.update_success": 1, "listener_manager.lds.update_success": 1 };
    expect(await check()).toContain("current state is: unknown");
    stats = { ...stats, "server.state": 2, "listener_manager.workers_started": 0 };
    expect(await check()).toContain("current state is: PRE_INITIALIZING");
    stats = { ...stats, "server.state": 0 };
    expect(await check()).toContain("workers have not yet started");
    stats = { ...stats, "listener_manager.workers_started": 1 };
    expect(await check()).toBe("ready");
    const asked = admin.asked.length;
    expect(await check()).toBe("ready");
    expect(admin.asked.length).toBe(asked);
    expect(
      await new EnvoyReadiness({ address: "127.0.0.1", port: 1 }).check().catch((error: Error) => error.message),
    ).toContain("ECONNREFUSED");
  });
});

describe("Envoy's termination", () => {
  function fakeEnvoy(stubborn = false) {
    const signals: string[] = [];
    let exit: (value: EnvoyExit) => void = () => undefined;
    const exited = new Promise<EnvoyExit>((resolve) => (exit = resolve));
    return {
      signals,
      exit: () => exit({ code: 0, signal: null }),
      process: {
        pid: 1,
        exited,
        kill: (signal: "SIGTERM" | "SIGKILL") => {
          signals.push(signal);
          if (!stubborn || signal === "SIGKILL") exit({ code: null, signal });
        },
      },
    };
  }
  const options = (
    envoy: ReturnType<typeof fakeEnvoy>,
    admin: { address: string; port: number },
    clock: FakeClock,
    more: Partial<TerminationOptions> = {},
  ): TerminationOptions => ({
    envoy: envoy.process,
    admin,
    inboundOnly: true,
    drain: 5000,
    ownPorts: [15021],
    clock,
    log: silentLog,
    ...more,
  });

  it("follows the drain period", async () => {
    const [envoy, admin, clock] = [fakeEnvoy(), await web(() => "OK"), new FakeClock()];
    const done = terminateEnvoy(options(envoy, admin, clock), false);
    await expect.poll(() => clock.pending).toEqual([5000]);
    expect(admin.asked).toEqual(["POST /drain_listeners?inboundonly&graceful"]);
    clock.advance(4999);
    expect(envoy.signals).toEqual([]);
    clock.advance(1);
    await done;
    expect(envoy.signals).toEqual(["SIGTERM"]);
  });

  it("drains both directions of a gateway", async () => {
    const [envoy, admin, clock] = [fakeEnvoy(), await web(() => "OK"), new FakeClock()];
    const done = terminateEnvoy(options(envoy, admin, clock, { inboundOnly: false, drain: 0 }), false);
    await expect.poll(() => admin.asked).toEqual(["POST /drain_listeners?graceful"]);
    await expect
      .poll(() => {
        clock.advance(1);
        return envoy.signals;
      })
      .toEqual(["SIGTERM"]);
    await done;
  });

  it("kills an Envoy that ignores SIGTERM", async () => {
    const [envoy, admin, clock] = [fakeEnvoy(true), await web(() => "OK"), new FakeClock()];
    const done = terminateEnvoy(options(envoy, admin, clock), true);
    expect(admin.asked).toEqual([]);
    await expect.poll(() => clock.pending).toEqual([2000]);
    clock.advance(2000);
    await done;
    expect(envoy.signals).toEqual(["SIGTERM", "SIGKILL"]);
  });

  it("follows the last connection if configured, without counting Envoy's own", async () => {
    let connections = 2;
    const admin = await web((path) =>
      path.startsWith("/stats")
        ? `listener.0.0.0.0_15006.downstream_cx_active: ${connections}\nlistener.0.0.0.0_15006.worker_0.downstream_cx_active: 9\nlistener.0.0.0.0_15021.downstream_cx_active: 7\nlistener.admin.downstream_cx_active: 1\nhttp.x.downstream_cx_active: 4\n`
        : "OK",
    );
    const [envoy, clock] = [fakeEnvoy(), new FakeClock()];
    const done = terminateEnvoy(options(envoy, admin, clock, { onZeroConnections: { minimum: 3000 } }), false);
    await expect.poll(() => clock.pending).toEqual([3000]);
    clock.advance(3000);
    await expect.poll(() => clock.pending).toEqual([1000]);
    connections = 0;
    clock.advance(1000);
    await done;
    expect(envoy.signals).toEqual(["SIGTERM"]);
  });

  it("ends early when Envoy exits", async () => {
    const [envoy, clock] = [fakeEnvoy(), new FakeClock()];
    const done = terminateEnvoy(options(envoy, { address: "127.0.0.1", port: 1 }, clock), false);
    await expect.poll(() => clock.pending).toEqual([5000]);
    envoy.exit();
    await done;
    expect(envoy.signals).toEqual([]);
  });
});

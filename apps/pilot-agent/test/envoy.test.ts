import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type tls from "node:tls";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Agent, AgentError, readOptions, silentLog, startAgent, stderrLog } from "../src/index.js";
import { agentEnv, exitOf, freePorts, HoldingClock, NO_ENVOY, NOT_BUILT, putCredentials } from "./agent-fixture.js";
import { application, discovery, inbound } from "./envoy-resources.js";
import { FakeIstiod, put, scratch } from "./fakes.js";

const envoyPath = await findEnvoy();

const log = process.env["AGENT_TEST_LOG"] ? stderrLog("debug", false) : silentLog;

describe("an agent with a real Envoy", () => {
  beforeEach(({ skip }) => skip(!envoyPath, NO_ENVOY));
  const address = "127.0.77.1";
  let istiod: FakeIstiod;
  let agent: Agent;
  let directory: string;
  let app: http.Server;
  const seen = { known: [] as Record<string, string>[], refused: [] as string[] };
  const drainMilliseconds = 777;
  const clock = new HoldingClock(drainMilliseconds);
  let ports: Record<"status" | "health" | "prometheus" | "admin" | "inbound", number>;
  const env = (): Record<string, string> =>
    agentEnv({
      address,
      ports,
      istiod: `127.0.0.1:${istiod.port}`,
      envoyPath,
      proxyConfig: { terminationDrainDuration: `${drainMilliseconds / 1000}s` },
      more: {
        AGENT_DIRECTORY: directory,
        SERVICE_ACCOUNT: "cart",
        ISTIO_META_CLUSTER_ID: "Kubernetes",
        SECRET_TTL: "6s",
        ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({
          scrape: "true",
          port: String((app.address() as AddressInfo).port),
          path: "/metrics",
        }),
      },
    });

  beforeAll(async () => {
    if (!envoyPath) return;
    directory = await scratch();
    ports = await freePorts(address, ["status", "health", "prometheus", "admin", "inbound"]);
    app = http.createServer((request, response) =>
      response.end(request.url === "/metrics" ? "app_requests 1\n" : "hello"),
    );
    await new Promise<void>((resolve) => app.listen(0, address, resolve));
    const appOnLoopback = http.createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => appOnLoopback.listen(0, "127.0.0.1", resolve));
    afterAll(() => (appOnLoopback.close(), app.close()));
    istiod = await FakeIstiod.start(
      discovery(
        () => application((appOnLoopback.address() as AddressInfo).port),
        () => inbound(address, ports.inbound),
        seen,
      ),
    );
    await putCredentials(directory, istiod);
    await put(join(directory, "etc/istio/pod/labels"), 'app="cart"\nversion="v1"\n');
    agent = await startAgent({ type: "sidecar", options: readOptions({}, env()), env: env(), log, clock });
    await vi.waitFor(() => agent.checkReady(), { timeout: 20_000, interval: 100 });
  }, 40_000);
  afterAll(async () => {
    const terminated = agent?.terminate();
    clock.release();
    await terminated;
  });

  const get = async (url: string): Promise<{ status: number; body: string }> => {
    const response = await fetch(url);
    return { status: response.status, body: await response.text() };
  };

  /** Returns the credentials of another workload of the mesh. */
  const client = async (): Promise<tls.SecureContextOptions> => {
    const { generateCsr } = await import("../src/certificates/csr.js");
    const { key, csr } = await generateCsr("spiffe://x/ns/y/sa/z", {
      eccAlgorithm: "ECDSA",
      eccCurve: "P256",
      rsaKeySize: 2048,
      pkcs8Key: false,
    });
    const issued = await istiod.authority.sign({ request: csr, names: ["spiffe://cluster.local/ns/shop/sa/web"] });
    return { key, cert: issued.certificate, ca: issued.roots };
  };

  const call = (options: https.RequestOptions): Promise<{ body: string; peer: tls.PeerCertificate }> =>
    new Promise((resolve, reject) => {
      https
        .get(
          { host: address, port: ports.inbound, path: "/", checkServerIdentity: () => undefined, ...options },
          (response) => {
            const peer = (response.socket as tls.TLSSocket).getPeerCertificate();
            response.setEncoding("utf8").on("data", (body: string) => resolve({ body, peer }));
          },
        )
        .on("error", reject);
    });

  it("reports readiness on its own port and through Envoy's", async () => {
    expect((await get(`http://${address}:${ports.status}/healthz/ready`)).status).toBe(200);
    expect((await get(`http://${address}:${ports.health}/healthz/ready`)).status).toBe(200);
    expect((await get(`http://${address}:${ports.status}/nothing`)).status).toBe(404);
    expect(seen.refused).toEqual([]);
  });

  it("serves the workload's certificate over SDS, and Envoy rejects clients without one", async () => {
    const { body, peer } = await call({ ...(await client()), agent: false });
    expect(body).toBe("hello");
    expect(peer.subjectaltname).toBe("URI:spiffe://cluster.local/ns/shop/sa/cart");
    await expect(call({ ca: istiod.root, agent: false })).rejects.toThrow();
  });

  it("sends the node to istiod", async () => {
    const dump = JSON.parse(
      (await get(`http://${address}:${ports.admin}/config_dump?resource=&mask=bootstrap.node`)).body,
    ) as { configs: { bootstrap?: { node: { id: string; cluster: string; metadata: Record<string, unknown> } } }[] };
    const node = dump.configs.find(({ bootstrap }) => bootstrap)!.bootstrap!.node;
    expect(node.id).toBe(`sidecar~${address}~cart-1.shop~shop.svc.cluster.local`);
    expect(node.cluster).toBe("cart.shop");
    expect(node.metadata).toMatchObject({
      NAME: "cart-1",
      NAMESPACE: "shop",
      SERVICE_ACCOUNT: "cart",
      INSTANCE_IPS: address,
      LABELS: { app: "cart", version: "v1" },
      CLUSTER_ID: "Kubernetes",
    });
  });

  it("merges the metrics of the agent, Envoy and the application", async () => {
    const { body } = await get(`http://${address}:${ports.status}/stats/prometheus`);
    for (const name of [
      "istio_agent_xds_proxy_requests",
      "istio_agent_cert_expiry_seconds",
      "istio_agent_startup_duration_seconds",
      "envoy_server_live",
      "app_requests 1",
    ])
      expect(body).toContain(name);
    expect((await get(`http://${address}:${ports.prometheus}/stats/prometheus`)).body).toContain(
      "envoy_cluster_manager_cds_update_success",
    );
  });

  it("renews the certificate under load, without failed requests or a restart", async () => {
    const identity = await client();
    const kept = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const serials = new Set<string>();
    let requests = 0;
    const failures: unknown[] = [];
    const request = async (): Promise<number> => {
      try {
        serials.add((await call({ ...identity, agent: false })).peer.serialNumber);
        await call({ ...identity, agent: kept });
        requests += 2;
      } catch (error) {
        failures.push(error);
      }
      return serials.size;
    };
    await expect.poll(request, { timeout: 25_000, interval: 100 }).toBe(3);
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(10);
    kept.destroy();
  }, 40_000);

  it("keeps serving while istiod is down, and sends resource versions on reconnection", async () => {
    const identity = await client();
    seen.known.length = 0;
    await istiod.stop();
    for (let count = 0; count < 10; count++) expect((await call({ ...identity, agent: false })).body).toBe("hello");
    await istiod.listen();
    await expect.poll(() => seen.known, { timeout: 20_000 }).toContainEqual({ app: "1" });
    expect(seen.known).toContainEqual({ virtualInbound: "1" });
    expect((await get(`http://${address}:${ports.status}/healthz/ready`)).status).toBe(200);
  }, 40_000);

  it("writes to its directory", async () => {
    expect(existsSync(join(directory, "etc/istio/proxy/XDS"))).toBe(true);
    expect(existsSync(join(directory, "var/run/secrets/workload-spiffe-uds/socket"))).toBe(true);
    expect((await readFile(join(directory, "etc/istio/proxy/envoy-rev.json"), "utf8")).length).toBeGreaterThan(1000);
  });

  it("fails with one sentence if a port is in use", async () => {
    const second = { ...env(), AGENT_DIRECTORY: await scratch() };
    await put(join(second.AGENT_DIRECTORY, "var/run/secrets/istio/root-cert.pem"), istiod.root);
    const start = startAgent({ type: "sidecar", options: readOptions({}, second), env: second, log: silentLog });
    await expect(start).rejects.toThrow(
      `statusPort of PROXY_CONFIG ${address}:${ports.status}: address already in use by pid ${process.pid} (`,
    );
    await expect(start).rejects.toBeInstanceOf(AgentError);
  });

  it("drains Envoy for the drain period, terminates it, and leaves no socket or file behind", async () => {
    const identity = await client();
    const terminated = agent.terminate();
    await expect.poll(() => clock.held, { timeout: 5000 }).toBe(1);
    expect((await call({ ...identity, agent: false })).body).toBe("hello");
    clock.release();
    await terminated;
    expect(await agent.ended).toBeUndefined();
    await expect(get(`http://${address}:${ports.admin}/ready`)).rejects.toThrow();
    for (const path of [
      "etc/istio/proxy/envoy-rev.json",
      "etc/istio/proxy/XDS",
      "var/run/secrets/workload-spiffe-uds/socket",
    ])
      expect(existsSync(join(directory, path))).toBe(false);
  });

  it("exits when Envoy exits", async () => {
    const again = await startAgent({ type: "sidecar", options: readOptions({}, env()), env: env(), log });
    await expect
      .poll(
        () =>
          get(`http://${address}:${ports.admin}/quitquitquit`).then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
    void fetch(`http://${address}:${ports.admin}/quitquitquit`, { method: "POST" }).catch(() => undefined);
    expect(await again.ended).toEqual({ code: 0, signal: null });
  }, 20_000);

  it("names the path of a missing Envoy", async () => {
    const other = { ...env(), ENVOY_PATH: "/nope/envoy" };
    await expect(
      startAgent({ type: "sidecar", options: readOptions({}, other), env: other, log: silentLog }),
    ).rejects.toThrow("Envoy not found at /nope/envoy");
  });

  it("runs as a command, and shuts down on SIGTERM", async ({ skip }) => {
    const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
    skip(!existsSync(main), NOT_BUILT);
    const child = spawn(
      process.execPath,
      [main, "proxy", "sidecar", "--directory", directory, "--proxyLogLevel", "error"],
      { env: env(), stdio: ["ignore", "inherit", "pipe"] },
    );
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const exited = exitOf(child);
    await vi.waitFor(
      async () => expect((await fetch(`http://${address}:${ports.health}/healthz/ready`)).status).toBe(200),
      { timeout: 20_000, interval: 100 },
    );
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
    await expect(get(`http://${address}:${ports.admin}/ready`)).rejects.toThrow();
    expect(said).toContain("Envoy started with process ID");
    expect(said).toContain("generated new workload certificate");
  }, 40_000);

  it("exits with code 1 if Envoy is killed", async ({ skip }) => {
    const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
    skip(!existsSync(main), NOT_BUILT);
    const child = spawn(process.execPath, [main, "proxy", "sidecar", "--directory", directory], {
      env: env(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    const exited = exitOf(child);
    const pid = await new Promise<number>((resolve) =>
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        const found = /Envoy started with process ID (\d+)/.exec(text)?.[1];
        if (found) resolve(Number(found));
      }),
    );
    process.kill(pid, "SIGKILL");
    expect(await exited).toBe(1);
  }, 40_000);
});

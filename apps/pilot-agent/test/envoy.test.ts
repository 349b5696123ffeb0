import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type tls from "node:tls";
import { fileURLToPath } from "node:url";
import { createRegistry, fromJson } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Cluster, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { registry as envoyTypes } from "@istiod/envoy-api/registry";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Agent, AgentError, readOptions, silentLog, startAgent, stderrLog } from "../src/index.js";
import { type Ads, FakeIstiod, freePort, put, scratch, TOKEN } from "./fakes.js";

const envoyPath = await findEnvoy();

const registry = createRegistry(envoyTypes);
const log = process.env["AGENT_TEST_LOG"] ? stderrLog("debug", false) : silentLog;
const sds = {
  api_config_source: {
    api_type: "GRPC",
    transport_api_version: "V3",
    grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
  },
  resource_api_version: "V3",
};

/** An inbound listener with mutual TLS in front of an application. */
function inbound(address: string, port: number): Listener {
  return fromJson(
    ListenerSchema,
    {
      name: "virtualInbound",
      trafficDirection: "INBOUND",
      address: { socketAddress: { address, portValue: port } },
      filterChains: [
        {
          transportSocket: {
            name: "envoy.transport_sockets.tls",
            typedConfig: {
              "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
              requireClientCertificate: true,
              commonTlsContext: {
                tlsCertificateSdsSecretConfigs: [{ name: "default", sdsConfig: sds }],
                combinedValidationContext: {
                  defaultValidationContext: {},
                  validationContextSdsSecretConfig: { name: "ROOTCA", sdsConfig: sds },
                },
              },
            },
          },
          filters: [
            {
              name: "envoy.filters.network.http_connection_manager",
              typedConfig: {
                "@type":
                  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                statPrefix: "inbound",
                routeConfig: {
                  virtualHosts: [
                    { name: "app", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "app" } }] },
                  ],
                },
                httpFilters: [
                  {
                    name: "envoy.filters.http.router",
                    typedConfig: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
                  },
                ],
              },
            },
          ],
        },
      ],
    },
    { registry },
  );
}

function application(port: number): Cluster {
  const address = { socketAddress: { address: "127.0.0.1", portValue: port } };
  return fromJson(ClusterSchema, {
    name: "app",
    type: "STATIC",
    connectTimeout: "1s",
    loadAssignment: { clusterName: "app", endpoints: [{ lbEndpoints: [{ endpoint: { address } }] }] },
  });
}

/** Discovery of one cluster and one listener; notes what Envoy says that it has. */
function discovery(
  cluster: () => Cluster,
  listener: () => Listener,
  seen: { known: Record<string, string>[]; refused: string[] },
): Ads {
  return {
    async *deltaAggregatedResources(requests) {
      for await (const { typeUrl, responseNonce, initialResourceVersions, errorDetail } of requests) {
        if (errorDetail) seen.refused.push(errorDetail.message);
        if (responseNonce !== "") continue;
        seen.known.push(initialResourceVersions);
        if (typeUrl.endsWith("Cluster"))
          yield {
            typeUrl,
            nonce: "c",
            resources: [{ name: "app", version: "1", resource: anyPack(ClusterSchema, cluster()) }],
          };
        if (typeUrl.endsWith("Listener"))
          yield {
            typeUrl,
            nonce: "l",
            resources: [{ name: "virtualInbound", version: "1", resource: anyPack(ListenerSchema, listener()) }],
          };
      }
    },
  };
}

describe("an agent with a real Envoy", () => {
  beforeEach(({ skip }) => skip(!envoyPath, "no Envoy: set ENVOY_PATH, or run `npx istiod-envoy install`"));
  const address = "127.0.77.1";
  let istiod: FakeIstiod;
  let agent: Agent;
  let directory: string;
  let app: http.Server;
  const seen = { known: [] as Record<string, string>[], refused: [] as string[] };
  const ports = { status: 0, health: 0, prometheus: 0, admin: 0, inbound: 0 };
  const env = (): Record<string, string> => ({
    PATH: process.env["PATH"] ?? "",
    ENVOY_PATH: envoyPath ?? "",
    AGENT_DIRECTORY: directory,
    AGENT_BIND_ADDRESS: address,
    INSTANCE_IP: address,
    POD_NAME: "cart-1",
    POD_NAMESPACE: "shop",
    SERVICE_ACCOUNT: "cart",
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    SECRET_TTL: "6s",
    ENVOY_STATUS_PORT: String(ports.health),
    ENVOY_PROMETHEUS_PORT: String(ports.prometheus),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: `127.0.0.1:${istiod.port}`,
      proxyAdminPort: ports.admin,
      statusPort: ports.status,
      concurrency: 1,
      terminationDrainDuration: "0.5s",
    }),
    ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({
      scrape: "true",
      port: String((app.address() as AddressInfo).port),
      path: "/metrics",
    }),
  });

  beforeAll(async () => {
    if (!envoyPath) return;
    directory = await scratch();
    for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort(address);
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
    await put(join(directory, "var/run/secrets/istio/root-cert.pem"), istiod.root);
    await put(join(directory, "var/run/secrets/tokens/istio-token"), TOKEN);
    await put(join(directory, "etc/istio/pod/labels"), 'app="cart"\nversion="v1"\n');
    agent = await startAgent({ type: "sidecar", options: readOptions({}, env()), env: env(), log });
    await vi.waitFor(() => agent.checkReady(), { timeout: 20_000, interval: 100 });
  }, 40_000);
  afterAll(() => agent?.terminate());

  const get = async (url: string): Promise<{ status: number; body: string }> => {
    const response = await fetch(url);
    return { status: response.status, body: await response.text() };
  };

  /** A client with a certificate of another workload of the mesh. */
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

  it("is ready on its own port and through Envoy's", async () => {
    expect((await get(`http://${address}:${ports.status}/healthz/ready`)).status).toBe(200);
    expect((await get(`http://${address}:${ports.health}/healthz/ready`)).status).toBe(200);
    expect((await get(`http://${address}:${ports.status}/nothing`)).status).toBe(404);
    expect(seen.refused).toEqual([]);
  });

  it("serves the workload's identity by SDS, and takes no client without a certificate", async () => {
    const { body, peer } = await call({ ...(await client()), agent: false });
    expect(body).toBe("hello");
    expect(peer.subjectaltname).toBe("URI:spiffe://cluster.local/ns/shop/sa/cart");
    await expect(call({ ca: istiod.root, agent: false })).rejects.toThrow();
  });

  it("tells istiod who the proxy is", async () => {
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

  it("merges its metrics, Envoy's and the application's", async () => {
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

  it("renews the certificate while traffic flows, without one failed request and without a restart", async () => {
    const identity = await client();
    const kept = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const serials = new Set<string>();
    let requests = 0;
    const started = Date.now();
    while (serials.size < 3 && Date.now() - started < 25_000) {
      const fresh = await call({ ...identity, agent: false });
      serials.add(fresh.peer.serialNumber);
      await call({ ...identity, agent: kept });
      requests += 2;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(serials.size).toBe(3);
    expect(requests).toBeGreaterThan(10);
    kept.destroy();
  }, 40_000);

  it("goes on serving while istiod is away, and says what it has when istiod is back", async () => {
    const identity = await client();
    seen.known.length = 0;
    await istiod.stop();
    for (let count = 0; count < 10; count++) expect((await call({ ...identity, agent: false })).body).toBe("hello");
    await istiod.listen();
    await expect.poll(() => seen.known, { timeout: 20_000 }).toContainEqual({ app: "1" });
    expect(seen.known).toContainEqual({ virtualInbound: "1" });
    expect((await get(`http://${address}:${ports.status}/healthz/ready`)).status).toBe(200);
  }, 40_000);

  it("keeps to its directory", async () => {
    expect(existsSync(join(directory, "etc/istio/proxy/XDS"))).toBe(true);
    expect(existsSync(join(directory, "var/run/secrets/workload-spiffe-uds/socket"))).toBe(true);
    expect((await readFile(join(directory, "etc/istio/proxy/envoy-rev.json"), "utf8")).length).toBeGreaterThan(1000);
  });

  it("says in a sentence that a port is taken", async () => {
    const second = { ...env(), AGENT_DIRECTORY: await scratch() };
    await put(join(second.AGENT_DIRECTORY, "var/run/secrets/istio/root-cert.pem"), istiod.root);
    const start = startAgent({ type: "sidecar", options: readOptions({}, second), env: second, log: silentLog });
    await expect(start).rejects.toThrow(
      `statusPort of PROXY_CONFIG ${address}:${ports.status}: address already in use by pid ${process.pid} (`,
    );
    await expect(start).rejects.toBeInstanceOf(AgentError);
  });

  it("drains, ends Envoy, and leaves no socket or file behind", async () => {
    const before = Date.now();
    await agent.terminate();
    expect(await agent.ended).toBeUndefined();
    expect(Date.now() - before).toBeGreaterThanOrEqual(500);
    await expect(get(`http://${address}:${ports.admin}/ready`)).rejects.toThrow();
    for (const path of [
      "etc/istio/proxy/envoy-rev.json",
      "etc/istio/proxy/XDS",
      "var/run/secrets/workload-spiffe-uds/socket",
    ])
      expect(existsSync(join(directory, path))).toBe(false);
  });

  it("ends when Envoy ends by itself", async () => {
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

  it("says where it looked for an Envoy", async () => {
    const other = { ...env(), ENVOY_PATH: "/nope/envoy" };
    await expect(
      startAgent({ type: "sidecar", options: readOptions({}, other), env: other, log: silentLog }),
    ).rejects.toThrow("Envoy not found at /nope/envoy");
  });

  it("is run by the command, and ends with it on SIGTERM", async ({ skip }) => {
    const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
    skip(!existsSync(main), "not built: npm run build");
    const child = spawn(
      process.execPath,
      [main, "proxy", "sidecar", "--directory", directory, "--proxyLogLevel", "error"],
      { env: env(), stdio: ["ignore", "inherit", "pipe"] },
    );
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
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

  it("is missed by the command, which ends with exit code 1", async ({ skip }) => {
    const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
    skip(!existsSync(main), "not built: npm run build");
    const child = spawn(process.execPath, [main, "proxy", "sidecar", "--directory", directory], {
      env: env(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
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

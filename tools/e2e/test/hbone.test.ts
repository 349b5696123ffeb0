import { readFile } from "node:fs/promises";
import { type ClientHttp2Session, connect } from "node:http2";
import { join } from "node:path";
import {
  eventually,
  startRedirectedMesh,
  whyNoEnvoy,
  whyNoPods,
  whyNoRedirection,
  type RedirectedMesh,
} from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoEnvoy()) ?? (await whyNoRedirection()) ?? whyNoPods();
const spiffe = (app: string): string => `spiffe://cluster.local/ns/shop/sa/${app}`;

const strict = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec:
  mtls: {mode: STRICT}
`;

const metrics = `
apiVersion: telemetry.istio.io/v1
kind: Telemetry
metadata: {name: default, namespace: istio-system}
spec:
  metrics: [{providers: [{name: prometheus}]}]
`;

/** Lets some workloads call ports of `web`, by the identities of their certificates. */
const allowed = (...apps: readonly string[]): string => `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  rules:
  - from: [{source: {principals: ${JSON.stringify(apps.map((app) => spiffe(app).slice("spiffe://".length)))}}}]
    to: [{operation: {ports: ["8000", "9001", "7777"]}}]
`;

const prefixes = "http.connect_terminate,cluster.main_internal,cluster.connect_originate";
const ANNOTATIONS = JSON.stringify({ "sidecar.istio.io/statsInclusionPrefixes": prefixes });
const hbone = { ISTIO_META_ENABLE_HBONE: "true", ISTIO_META_ANNOTATIONS: ANNOTATIONS };
const noHbone = { ISTIO_META_DISABLE_HBONE_SEND: "true", ISTIO_META_ANNOTATIONS: ANNOTATIONS };

describe("HBONE between sidecars", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: RedirectedMesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startRedirectedMesh({
      istiodEnv: { PILOT_ENABLE_AMBIENT: "true", PILOT_PREFER_SENDING_HBONE: "true" },
      objects: [strict, metrics, allowed("client", "legacy")].join("---"),
      workloads: [
        { app: "client", httpPorts: [], env: { ...hbone, OUTPUT_CERTS: "certs" } },
        { app: "stranger", httpPorts: [], env: hbone },
        { app: "legacy", env: noHbone },
        {
          app: "web",
          ports: [
            { name: "http", port: 8000 },
            { name: "tcp-echo", port: 9001 },
          ],
          httpPorts: [8000, 7777, 7778],
          tcpPorts: [9001],
          labels: { "networking.istio.io/tunnel": "http" },
          env: hbone,
        },
        { app: "plain", proxy: "none" },
      ],
    });
  }, 120_000);
  afterAll(() => mesh?.close());

  const http = (from: string, path = "/") => mesh.http(from, `http://web:8000${path}`, { at: mesh.service("web") });
  const echo = (from: string) => mesh.tcp(from, mesh.service("web"), 9001, "hello\n");
  /** Tunnels that were opened to `web` so far, and connections that came out of them. */
  const tunnels = () => mesh.stat("web", "http.connect_terminate.downstream_rq_total");
  const carried = () => mesh.stat("web", "cluster.main_internal;.upstream_cx_total");
  const opened = (app: string) => mesh.stat(app, "cluster.connect_originate;.upstream_rq_total");

  it("carries requests", async () => {
    const { status, seen } = await http("client", "/page");
    expect([status, seen?.workload, seen?.path]).toEqual([200, "web", "/page"]);
    expect([await tunnels(), await carried(), await opened("client")]).toEqual([1, 1, 1]);
    expect(await mesh.stat("web", "http.connect_terminate.downstream_cx_ssl_total")).toBe(1);
  });

  it("carries connections of other protocols, by the tunnels' one connection", async () => {
    const before = await tunnels();
    expect(await echo("client")).toEqual({ text: "hello\n" });
    expect(await tunnels()).toBe(before + 1);
    expect(await mesh.stat("web", "http.connect_terminate.downstream_cx_http2_total")).toBe(1);
  });

  it("is denied to peers whose identity no policy allows", async () => {
    const before = await tunnels();
    const { status, text } = await http("stranger");
    expect([status, text]).toEqual([403, "RBAC: access denied"]);
    expect((await echo("stranger")).text ?? "").toBe("");
    expect(await tunnels()).toBe(before + 2);
    expect(await opened("stranger")).toBe(2);
  });

  it("keeps the identities of peers apart that call at the same time", async () => {
    const rounds = Array.from({ length: 20 }, () => Promise.all([http("client"), http("stranger")]));
    const statuses = (await Promise.all(rounds)).map((both) => both.map(({ status }) => status));
    expect(statuses).toEqual(rounds.map(() => [200, 403]));
  });

  it("leaves workloads without it to mutual TLS", async () => {
    const before = await tunnels();
    const { status, seen } = await http("legacy");
    expect([status, seen?.workload, seen?.peer]).toEqual([200, "web", spiffe("legacy")]);
    expect(await echo("legacy")).toEqual({ text: "hello\n" });
    const back = await mesh.http("client", "http://legacy:8000/", { at: mesh.service("legacy") });
    expect([back.status, back.seen?.peer]).toEqual([200, spiffe("client")]);
    expect([await tunnels(), await opened("legacy")]).toEqual([before, 0]);
  });

  it("leaves plaintext refused under STRICT", async () => {
    expect((await mesh.http("plain", `http://${mesh.address("web")}:8000/`)).error).toBe("ECONNRESET");
    expect((await mesh.http("plain", `http://${mesh.address("web")}:15008/`)).error).toBe("ECONNRESET");
  });

  it("names both sides in metrics", async () => {
    const labelsOf = async (of: string, reporter: string): Promise<Readonly<Record<string, string>>> => {
      const { text = "" } = await mesh.http(of, "http://127.0.0.1:15020/stats/prometheus");
      const answered = new RegExp(`^istio_requests_total\\{reporter="${reporter}".*service_name="web".*_code="200"`);
      const line = text.split("\n").find((each) => answered.test(each)) ?? "";
      return Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    };
    await eventually("both sides count requests", async () => {
      const sides = [await labelsOf("client", "source"), await labelsOf("web", "destination")];
      return sides.every((labels) => "reporter" in labels);
    });
    expect(await labelsOf("web", "destination")).toMatchObject({
      source_app: "client",
      source_workload_namespace: "shop",
      source_principal: spiffe("client"),
      destination_principal: spiffe("web"),
      connection_security_policy: "mutual_tls",
    });
    expect(await labelsOf("client", "source")).toMatchObject({
      destination_app: "web",
      destination_principal: "unknown",
    });
  });

  it("follows changes of the policy", async () => {
    await mesh.apply("objects", [strict, metrics, allowed("stranger")].join("---"));
    await eventually("the other workload is allowed", async () => (await http("stranger")).status === 200);
    await eventually("the first workload is denied", async () => (await http("client")).status === 403);
    await mesh.apply("objects", [strict, metrics, allowed("client", "legacy")].join("---"));
    await eventually("the first workload is allowed", async () => (await http("client")).status === 200);
  });

  describe("by a client of one's own", () => {
    /** Opens a connection for tunnels to `web`, with the certificate of `client` or none. */
    async function session(certificate: boolean): Promise<ClientHttp2Session> {
      const read = (file: string) => readFile(join(mesh.directory("client"), "certs", file), "utf8");
      const [key, cert, ca] = await Promise.all([read("key.pem"), read("cert-chain.pem"), read("root-cert.pem")]);
      const options = { ca, checkServerIdentity: () => undefined, ...(certificate ? { key, cert } : {}) };
      return connect(`https://${mesh.address("web")}:15008`, options);
    }

    /** Opens a tunnel and sends a request through it; gives the status of CONNECT and what came back. */
    async function through(
      authority: string,
      certificate = true,
    ): Promise<{ readonly connect: number; readonly text: string }> {
      const client = await session(certificate);
      return new Promise((resolve) => {
        let [connect, text] = [0, ""];
        const end = (): void => {
          client.destroy();
          resolve({ connect, text });
        };
        client.on("error", end).on("close", end);
        const tunnel = client.request({ ":method": "CONNECT", ":authority": authority }, { endStream: false });
        tunnel.on("response", (headers) => void (connect = Number(headers[":status"])));
        tunnel
          .setEncoding("utf8")
          .on("data", (chunk: string) => void (text += chunk))
          .on("error", () => undefined)
          .on("close", end);
        tunnel.write("GET /own HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n");
      });
    }

    it("reaches the workload's ports, also those that no service has", async () => {
      for (const port of [8000, 7777]) {
        const { connect, text } = await through(`${mesh.address("web")}:${port}`);
        expect(connect).toBe(200);
        expect(text).toMatch(/^HTTP\/1.1 200 OK/);
        expect(text).toContain('"path":"/own"');
      }
    });

    it("is denied ports that no policy allows", async () => {
      expect((await through(`${mesh.address("web")}:7778`)).text).toMatch(/^HTTP\/1.1 403 Forbidden/);
    });

    it("reaches no other address", async () => {
      for (const authority of [`${mesh.address("plain")}:8000`, "127.0.0.1:15000", "web.shop.svc.cluster.local:8000"]) {
        // Envoy may accept CONNECT before it finds that nothing is there.
        const { connect, text } = await through(authority);
        expect([200, 503]).toContain(connect);
        expect(text).not.toContain("HTTP/1.1");
        expect(text).not.toContain('"workload"');
      }
    });

    it("needs a certificate of the mesh", async () => {
      const before = await tunnels();
      expect(await through(`${mesh.address("web")}:8000`, false)).toEqual({ connect: 0, text: "" });
      expect(await tunnels()).toBe(before);
    });
  });

  it("is configured by what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});

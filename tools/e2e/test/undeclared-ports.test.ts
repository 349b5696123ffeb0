import {
  certificateFor,
  type RedirectedMesh,
  startRedirectedMesh,
  whyNoEnvoy,
  whyNoPods,
  whyNoRedirection,
} from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoEnvoy()) ?? (await whyNoRedirection()) ?? whyNoPods();
const client = "spiffe://cluster.local/ns/shop/sa/client";

const objects = (mode: string): string => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: ${mode}}}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: methods, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  rules:
  - to: [{operation: {methods: [GET], ports: ["8080", "8083"]}}]
  - to: [{operation: {methods: [POST], ports: ["8082", "8084"]}}]
  - to: [{operation: {ports: ["8000", "9001", "9002"]}}]
`;

const secret = await certificateFor("secret.example");

const startMesh = (istiodEnv: Readonly<Record<string, string>> = {}): Promise<RedirectedMesh> =>
  startRedirectedMesh({
    objects: objects("STRICT"),
    istiodEnv,
    workloads: [
      { app: "client", httpPorts: [] },
      {
        app: "web",
        ports: [
          { name: "http", port: 8000 },
          { name: "foo", port: 8080 },
          { name: "bar", port: 8082 },
          { name: "foo2", port: 8083 },
          { name: "bar2", port: 8084 },
          { name: "riddle", port: 9001 },
          { name: "secret", port: 9002 },
        ],
        httpPorts: [8000, 8080, 8082],
        http2Ports: [8083, 8084],
        tcpPorts: [9001],
        tlsPorts: [9002],
        certificate: secret.server,
      },
    ],
  });

const request = async (mesh: RedirectedMesh, port: number, http2 = false): Promise<readonly unknown[]> => {
  const { status, seen } = await mesh.http("client", `http://web:${port}/`, { at: mesh.service("web"), http2 });
  return [status, seen?.peer];
};

const riddle = "what walks on four legs?\n";
const exchange = (mesh: RedirectedMesh): Promise<unknown> => mesh.tcp("client", mesh.service("web"), 9001, riddle);
const exchangeOverTls = (mesh: RedirectedMesh): Promise<unknown> =>
  mesh.tls("client", mesh.service("web"), 9002, riddle, { serverName: "secret.example", roots: secret.root });

describe("a port without a declared protocol, over mutual TLS between stock Envoys", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: RedirectedMesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh();
  }, 120_000);
  afterAll(() => mesh?.close());

  const behaves = (): void => {
    it("is HTTP: policies by method apply, and the application learns who calls", async () => {
      expect(await request(mesh, 8080)).toEqual([200, client]);
      expect((await request(mesh, 8082))[0]).toBe(403);
    });

    it("is HTTP/2 by prior knowledge, too", async () => {
      expect(await request(mesh, 8083, true)).toEqual([200, client]);
      expect((await request(mesh, 8084, true))[0]).toBe(403);
    });

    it("does not change what declared ports do", async () => {
      expect(await request(mesh, 8000)).toEqual([200, client]);
    });

    it("is TCP for everything else, such as TLS of the applications", async () => {
      expect(await exchange(mesh)).toEqual({ text: riddle });
      expect(await exchangeOverTls(mesh)).toEqual({ text: riddle });
    });
  };

  describe("with STRICT", behaves);

  describe("with PERMISSIVE", () => {
    beforeAll(async () => {
      if (!reason) await mesh.apply("objects", objects("PERMISSIVE"));
    }, 60_000);
    behaves();
  });

  it("was configured by what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});

describe("without the announcement of HTTP", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: RedirectedMesh;
  beforeAll(async () => {
    if (!reason) mesh = await startMesh({ PILOT_ENABLE_ALPN_FILTER: "false" });
  }, 120_000);
  afterAll(() => mesh?.close());

  it("such a port is opaque: no policy by method lets a request pass", async () => {
    expect(await request(mesh, 8080)).toEqual([503, undefined]);
    expect((await request(mesh, 8083, true))[0]).toBe(503);
    expect(await request(mesh, 8000)).toEqual([200, client]);
    expect(await exchange(mesh)).toEqual({ text: riddle });
    expect(await exchangeOverTls(mesh)).toEqual({ text: riddle });
  });
});

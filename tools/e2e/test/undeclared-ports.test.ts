import { type RedirectedMesh, startRedirectedMesh, whyNoEnvoy, whyNoPods, whyNoRedirection } from "@istiod/e2e";
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
  - to: [{operation: {methods: [GET], ports: ["8080"]}}]
  - to: [{operation: {methods: [POST], ports: ["8082"]}}]
  - to: [{operation: {ports: ["8000", "9001"]}}]
`;

describe("a port without a declared protocol, over mutual TLS between stock Envoys", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: RedirectedMesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startRedirectedMesh({
      objects: objects("STRICT"),
      workloads: [
        { app: "client", httpPorts: [] },
        {
          app: "web",
          ports: [
            { name: "http", port: 8000 },
            { name: "foo", port: 8080 },
            { name: "bar", port: 8082 },
            { name: "riddle", port: 9001 },
          ],
          httpPorts: [8000, 8080, 8082],
          tcpPorts: [9001],
        },
      ],
    });
  }, 120_000);
  afterAll(() => mesh?.close());

  const request = async (app: string, port: number): Promise<readonly unknown[]> => {
    const { status, seen } = await mesh.http("client", `http://${app}:${port}/`, { at: mesh.service(app) });
    return [status, seen?.peer];
  };

  const behaves = (): void => {
    it("is HTTP: policies by method apply, and the application learns who calls", async () => {
      expect(await request("web", 8080)).toEqual([200, client]);
      expect((await request("web", 8082))[0]).toBe(403);
    });

    it("does not change what declared ports do", async () => {
      expect(await request("web", 8000)).toEqual([200, client]);
    });

    it("is TCP for everything else", async () => {
      const text = "what walks on four legs?\n";
      expect(await mesh.tcp("client", mesh.service("web"), 9001, text)).toEqual({ text });
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

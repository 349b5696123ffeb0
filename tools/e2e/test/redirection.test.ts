import { createSocket, type Socket } from "node:dgram";
import {
  call,
  eventually,
  startRedirectedMesh,
  whyNoEnvoy,
  whyNoPods,
  whyNoRedirection,
  type RedirectedMesh,
  type RulesOf,
} from "@istiod/e2e";
import { decode, encode } from "dns-packet";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const noEnvoy = await whyNoEnvoy();
const reason = noEnvoy ?? (await whyNoRedirection()) ?? whyNoPods();
const spiffe = (app: string): string => `spiffe://cluster.local/ns/shop/sa/${app}`;

const mutualTls = (mode: string): string => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec:
  mtls: {mode: ${mode}}
`;

const outbound = (mode: string): string => `
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: client, namespace: shop}
spec:
  workloadSelector: {labels: {app: client}}
  outboundTrafficPolicy: {mode: ${mode}}
  egress:
  - port: {number: 8081, protocol: HTTP, name: http-own}
    bind: 127.0.0.1
    captureMode: NONE
    hosts: ["shop/web.shop.svc.cluster.local"]
  - hosts: ["*/*"]
`;

const greeting = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  hosts: [web]
  http:
  - headers: {request: {add: {x-routed: "yes"}}}
    route: [{destination: {host: web}}]
`;

const outside = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: outside, namespace: shop}
spec:
  hosts: [outside.example]
  location: MESH_EXTERNAL
  ports: [{number: 8000, name: http, protocol: HTTP}, {number: 9001, name: tcp, protocol: TCP}]
  resolution: STATIC
  endpoints: [{address: "{{plain}}"}]
status:
  addresses: [{host: outside.example, value: 240.240.0.7}]
`;
const objects = (mode: string, outboundMode: string): string =>
  [greeting, outside, mutualTls(mode), outbound(outboundMode)].join("---");

describe("traffic that is led through proxies", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: RedirectedMesh;
  let nameServer: Socket;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startRedirectedMesh({
      objects: objects("PERMISSIVE", "ALLOW_ANY"),
      workloads: [
        { app: "client", httpPorts: [] },
        {
          app: "web",
          ports: [
            { name: "http", port: 8000 },
            { name: "http-own", port: 8081 },
            { name: "mystery", port: 8080 },
            { name: "riddle", port: 9001 },
          ],
          httpPorts: [8000, 8080, 8081, 7777],
          tcpPorts: [9001],
          env: {
            ISTIO_KUBE_APP_PROBERS: JSON.stringify({
              "/app-health/web/readyz": {
                httpGet: { path: "/healthy", port: 8000, scheme: "HTTP" },
                timeoutSeconds: 1,
              },
            }),
          },
        },
        { app: "store", headless: true },
        { app: "plain", proxy: "none", tcpPorts: [9001] },
      ],
    });
    nameServer = createSocket("udp4");
    nameServer.on("message", (message, { address, port }) => {
      const { id, questions = [] } = decode(message);
      const answers = questions
        .filter((q) => q.type === "A")
        .map((q) => ({ type: "A" as const, name: q.name, data: "192.0.2.7", ttl: 1 }));
      nameServer.send(encode({ type: "response", id: id ?? 0, questions, answers }), port, address);
    });
    await new Promise<void>((resolve) => nameServer.bind(53, mesh.gateway, resolve));
  }, 120_000);
  afterAll(async () => {
    nameServer?.close();
    await mesh?.close();
  });

  it("reaches a service by its cluster IP, with mutual TLS between the proxies", async () => {
    const { status, seen } = await mesh.http("client", "http://web:8000/page", { at: mesh.service("web") });
    expect([status, seen?.workload, seen?.path]).toEqual([200, "web", "/page"]);
    expect(seen?.peer).toBe(spiffe("client"));
    expect(seen?.headers["x-routed"]).toBe("yes");
    expect(seen?.from).toBe("127.0.0.6");
  });

  it("reaches a headless service by the pod's own address, with mutual TLS", async () => {
    const { status, seen } = await mesh.http("client", "http://store:8000/", { at: mesh.address("store") });
    expect([status, seen?.workload, seen?.peer]).toEqual([200, "store", spiffe("client")]);
  });

  it("is recognized as HTTP on a port that does not say what it speaks", async () => {
    const { status, seen } = await mesh.http("client", "http://web:8080/", { at: mesh.service("web") });
    expect([status, seen?.workload, seen?.headers["x-routed"]]).toEqual([200, "web", "yes"]);
    const plain = await mesh.http("plain", `http://${mesh.address("web")}:8080/`);
    expect([plain.status, plain.seen?.headers["x-forwarded-proto"]]).toEqual([200, "http"]);
  });

  it("passes as it is on such a port if it is not HTTP", async () => {
    expect(await mesh.tcp("client", mesh.service("web"), 9001, "what walks on four legs?\n")).toEqual({
      text: "what walks on four legs?\n",
    });
  });

  it("comes back to the pod that it came from, through the proxy twice", async () => {
    const { status, seen } = await mesh.http("web", "http://web:8000/", { at: mesh.service("web") });
    expect([status, seen?.peer]).toEqual([200, spiffe("web")]);
  });

  it("of a pod with itself is left alone", async () => {
    const { status, seen, headers } = await mesh.http("web", "http://localhost:8000/", { at: "127.0.0.1" });
    expect([status, seen?.peer, headers?.["server"]]).toEqual([200, "", undefined]);
  });

  it("goes through a listener of its Sidecar that nothing is redirected to", async () => {
    const { status, seen } = await mesh.http("client", "http://web:8081/", { at: "127.0.0.1" });
    expect([status, seen?.peer]).toEqual([200, spiffe("client")]);
  });

  describe("to where nobody is known", () => {
    it("passes under ALLOW_ANY", async () => {
      const { status, seen } = await mesh.http("client", `http://${mesh.address("plain")}:8000/`);
      expect([status, seen?.workload, seen?.peer]).toEqual([200, "plain", ""]);
      expect(seen?.from).toBe(mesh.address("client"));
    });

    it("is refused under REGISTRY_ONLY, and nothing else is", async () => {
      await mesh.apply("objects", objects("PERMISSIVE", "REGISTRY_ONLY"));
      await eventually(
        "the policy is in force",
        async () => (await mesh.http("client", `http://${mesh.address("plain")}:8000/`)).status === 502,
      );
      expect((await mesh.tcp("client", mesh.address("plain"), 7001, "hello")).text ?? "").toBe("");
      expect((await mesh.http("client", "http://web:8000/", { at: mesh.service("web") })).status).toBe(200);
    });

    it("passes if a ServiceEntry names it, at the address that was allocated to it", async () => {
      const address = "240.240.0.7";
      expect(await mesh.dns("client", "outside.example", mesh.gateway)).toEqual({ addresses: [address] });
      const { status, seen } = await mesh.http("client", "http://outside.example:8000/", { at: address });
      expect([status, seen?.workload, seen?.headers.host]).toEqual([200, "plain", "outside.example:8000"]);
      expect(await mesh.tcp("client", address, 9001, "hello\n")).toEqual({ text: "hello\n" });
      await mesh.apply("objects", objects("PERMISSIVE", "ALLOW_ANY"));
    });
  });

  describe("from outside the mesh, in plaintext,", () => {
    it("is taken under PERMISSIVE, beside mutual TLS", async () => {
      const { status, seen } = await mesh.http("plain", `http://${mesh.address("web")}:8000/`);
      expect([status, seen?.workload, seen?.peer]).toEqual([200, "web", ""]);
    });

    it("reaches a port that no service has", async () => {
      const { status, seen } = await mesh.http("plain", `http://${mesh.address("web")}:7777/`);
      expect([status, seen?.workload]).toEqual([200, "web"]);
    });

    it("is refused under STRICT on every port, and mutual TLS is not", async () => {
      await mesh.apply("objects", objects("STRICT", "ALLOW_ANY"));
      await eventually(
        "the policy is in force",
        async () => (await mesh.http("plain", `http://${mesh.address("web")}:8000/`)).error === "ECONNRESET",
      );
      expect((await mesh.http("plain", `http://${mesh.address("web")}:8080/`)).error).toBe("ECONNRESET");
      expect((await mesh.http("plain", `http://${mesh.address("web")}:7777/`)).error).toBe("ECONNRESET");
      const { status, seen } = await mesh.http("client", "http://web:8000/", { at: mesh.service("web") });
      expect([status, seen?.peer]).toEqual([200, spiffe("client")]);
    });

    it("probes by the agent are answered under STRICT", async () => {
      expect((await call(mesh.address("web"), "http://kubelet:15020/app-health/web/readyz")).status).toBe(200);
      expect((await call(mesh.address("web"), "http://kubelet:15021/healthz/ready")).status).toBe(200);
    });
  });

  describe("with questions for names", () => {
    it("is answered by the agent, whatever server is asked", async () => {
      expect(await mesh.dns("client", "web.shop.svc.cluster.local", mesh.gateway)).toEqual({
        addresses: [mesh.service("web")],
      });
      expect(await mesh.dns("client", "store.shop.svc.cluster.local", mesh.gateway)).toEqual({
        addresses: [mesh.address("store")],
      });
    });

    it("is answered by that server where the agent knows nothing", async () => {
      expect(await mesh.dns("client", "elsewhere.example", mesh.gateway)).toEqual({ addresses: ["192.0.2.7"] });
      expect(await mesh.dns("plain", "web.shop.svc.cluster.local", mesh.gateway)).toEqual({ addresses: ["192.0.2.7"] });
    });
  });

  it("is configured by what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});

describe.each<RulesOf>(["iptables", "nftables"])("traffic that %s leads through transparent proxies", (rules) => {
  let reason: string | undefined;
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: RedirectedMesh;
  beforeAll(async () => {
    reason = noEnvoy ?? (await whyNoRedirection(rules)) ?? whyNoPods();
    if (reason) return;
    mesh = await startRedirectedMesh({
      inbound: "TPROXY",
      rules,
      workloads: [
        { app: "client", httpPorts: [] },
        { app: "web", httpPorts: [8000, 7777] },
        { app: "plain", proxy: "none" },
      ],
    });
  }, 120_000);
  afterAll(() => mesh?.close());

  it("comes from the caller's address, as the application sees it", async () => {
    const { status, seen } = await mesh.http("client", "http://web:8000/", { at: mesh.service("web") });
    expect([status, seen?.peer]).toEqual([200, spiffe("client")]);
    expect(seen?.from).toBe(mesh.address("client"));
  });

  it("of questions for names comes to the agent", async () => {
    expect(await mesh.dns("client", "web.shop.svc.cluster.local", mesh.gateway)).toEqual({
      addresses: [mesh.service("web")],
    });
  });

  it("does so from outside the mesh, on any port", async () => {
    for (const port of [8000, 7777]) {
      const { status, seen } = await mesh.http("plain", `http://${mesh.address("web")}:${port}/`);
      expect([status, seen?.from]).toEqual([200, mesh.address("plain")]);
    }
  });

  it("comes back to the pod that it came from", async () => {
    const { status, seen } = await mesh.http("web", "http://web:8000/", { at: mesh.service("web") });
    expect([status, seen?.peer]).toEqual([200, spiffe("web")]);
  });
});

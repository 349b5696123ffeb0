import { connect } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { certificateFor, eventually, type Mesh, startMesh, type TestCertificates, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A Secret with a key pair, or with roots, or with both. */
const secret = (name: string, pair?: TestCertificates["server"], roots?: string, namespace = "shop"): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    data: {
      ...(pair && { "tls.crt": base64(pair.cert), "tls.key": base64(pair.key) }),
      ...(roots !== undefined && { "ca.crt": base64(roots) }),
    },
  });

const rule = (name: string, tls: object): string =>
  JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name, namespace: "shop" },
    spec: {
      host: `${name}.example`,
      workloadSelector: { matchLabels: { app: "client" } },
      trafficPolicy: { tls: { mode: "MUTUAL", sni: "secure.example", ...tls } },
    },
  });
const hosts = ["trusted", "in-config-map", "doubted", "overridden", "stranger"];

interface Parties {
  readonly secure: TestCertificates;
  readonly client: TestCertificates;
  readonly other: TestCertificates;
}

const objects = ({ secure, client, other }: Parties): string =>
  [
    secret("client-pair", client.server),
    // Roots beside the key pair do not count, because caCertCredentialName is set.
    secret("client-pair-with-roots", client.server, secure.root),
    secret("other-pair", other.server),
    secret("secure-roots", undefined, secure.root),
    secret("other-roots", undefined, other.root),
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "secure-roots", namespace: "shop" },
      data: { "ca.crt": secure.root },
    }),
    JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: { name: "secure", namespace: "shop" },
      spec: {
        hosts: hosts.map((name) => `${name}.example`),
        location: "MESH_EXTERNAL",
        ports: [{ number: 8000, name: "http", protocol: "HTTP", targetPort: 8000 }],
        resolution: "STATIC",
        endpoints: [{ address: "{{secure}}" }],
      },
    }),
    rule("trusted", { credentialName: "client-pair", caCertCredentialName: "secure-roots" }),
    rule("in-config-map", { credentialName: "client-pair", caCertCredentialName: "configmap://shop/secure-roots" }),
    rule("doubted", { credentialName: "client-pair", caCertCredentialName: "other-roots" }),
    rule("overridden", { credentialName: "client-pair-with-roots", caCertCredentialName: "other-roots" }),
    rule("stranger", { credentialName: "other-pair", caCertCredentialName: "secure-roots" }),
    secret("shop-pair", secure.server, other.root, "edge"),
    secret("client-roots", undefined, client.root, "edge"),
    JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "Gateway",
      metadata: { name: "ingress", namespace: "edge" },
      spec: {
        selector: { app: "ingress" },
        servers: [
          {
            port: { number: 8443, protocol: "HTTPS", name: "https" },
            bind: "{{ingress}}",
            hosts: ["secure.example"],
            tls: { mode: "MUTUAL", credentialName: "shop-pair", caCertCredentialName: "client-roots" },
          },
        ],
      },
    }),
    JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "ingress", namespace: "edge" },
      spec: {
        hosts: ["secure.example"],
        gateways: ["ingress"],
        http: [{ route: [{ destination: { host: "app.shop.svc.cluster.local" } }] }],
      },
    }),
  ].join("\n---\n");

describe("mutual TLS with caCertCredentialName", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  let parties: Parties;
  beforeAll(async () => {
    if (reason) return;
    const [secure, client, other] = await Promise.all(
      ["secure.example", "client.example", "other.example"].map(certificateFor),
    );
    parties = { secure, client, other } as Parties;
    mesh = await startMesh({
      objects: objects(parties),
      workloads: [
        { app: "client" },
        { app: "app" },
        { app: "ingress", proxy: "router", namespace: "edge" },
        {
          app: "secure",
          proxy: "none",
          namespace: "outside",
          tls: { ...parties.secure.server, clientRoots: parties.client.root },
        },
      ],
    });
  }, 120_000);
  afterAll(() => mesh?.close());

  const call = async (name: string): Promise<{ readonly status: number; readonly text: string }> =>
    mesh.call("client", `http://${name}.example:8000/`);

  it.each(["trusted", "in-config-map"])(
    "verifies the server by its roots, and proves the client (%s)",
    async (name) => {
      await eventually("the handshake succeeds", async () => (await call(name)).status === 200);
      expect(mesh.seen("secure").map(({ headers }) => headers.host)).toContain(`${name}.example:8000`);
    },
  );

  it.each([
    ["doubted", "remote connection failure"],
    ["overridden", "remote connection failure"],
    ["stranger", "connection termination"],
  ])("fails if the server, or the client for it, has another issuer (%s)", async (name, failure) => {
    await eventually("its credentials are served", async () => (await call("trusted")).status === 200);
    const { status, text } = await call(name);
    expect(status).toBe(503);
    expect(text).toContain(failure);
    expect(mesh.seen("secure").map(({ headers }) => headers.host)).not.toContain(`${name}.example:8000`);
  });

  it("verifies clients of a Gateway by its roots, and not by those beside the certificate", async () => {
    const { secure, client, other } = parties;
    /** Status of the response, or the alert of the server. */
    const answer = (pair: Partial<TestCertificates["server"]>): Promise<string> =>
      new Promise((resolve) => {
        const at = { host: mesh.workload("ingress").address, port: 8443, servername: "secure.example" };
        const socket = connect({ ...at, ca: secure.root, ...pair });
        socket.once("error", ({ message }) => resolve(/alert [a-z ]+/.exec(message)?.[0] ?? message));
        socket.once("data", (data) => resolve(data.toString("latin1").split("\r\n", 1)[0] ?? ""));
        socket.write("GET / HTTP/1.1\r\nhost: secure.example\r\nconnection: close\r\n\r\n");
      });
    await eventually("the certificate is served", async () => {
      expect(await answer(client.server)).toBe("HTTP/1.1 200 OK");
      return true;
    });
    expect(await answer(other.server)).toContain("alert unknown ca");
    expect(await answer({})).toContain("alert certificate required");
  });

  it("is accepted by every proxy", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});

import { generateKeyPairSync, sign } from "node:crypto";
import { connect } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { certificateFor, eventually, type Mesh, startMesh, type TestCertificates, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const jwks = JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] });

function token(issuer: string, key = privateKey): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${part({ alg: "RS256" })}.${part({ iss: issuer, sub: "ann" })}`;
  return `${content}.${sign("sha256", Buffer.from(content), key).toString("base64url")}`;
}

const jwtRules = (app: string, ...rules: readonly object[]): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name: app, namespace: "shop" },
    spec: { selector: { matchLabels: { app } }, jwtRules: rules.map((rule) => ({ jwks, ...rule })) },
  });
const identity = { issuer: "identity" };
const scope = { issuer: "scope", fromHeaders: [{ name: "x-scope" }] };

const objects = (shop: TestCertificates, secure: TestCertificates): string => `
apiVersion: v1
kind: Secret
metadata: {name: shop-certificate, namespace: edge}
type: kubernetes.io/tls
data: {tls.crt: ${base64(shop.server.cert)}, tls.key: ${base64(shop.server.key)}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: ingress, namespace: edge}
spec:
  selector: {app: ingress}
  servers:
  - port: {number: 8443, protocol: HTTPS, name: https}
    bind: "{{ingress}}"
    hosts: [shop.example]
    tls: {mode: SIMPLE, credentialName: shop-certificate}
  - port: {number: 8444, protocol: HTTPS, name: https-1}
    bind: "{{ingress}}"
    hosts: [shop.example]
    tls: {mode: SIMPLE, credentialName: shop-certificate, alpnProtocols: [http/1.1]}
---
apiVersion: v1
kind: Secret
metadata: {name: secure-roots, namespace: shop}
data: {ca.crt: ${base64(secure.root)}}
---
apiVersion: v1
kind: Secret
metadata: {name: other-roots, namespace: shop}
data: {ca.crt: ${base64(shop.root)}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: secure, namespace: shop}
spec:
  hosts: [secure.example, doubted.example]
  location: MESH_EXTERNAL
  ports: [{number: 8000, name: http, protocol: HTTP, targetPort: 8000}]
  resolution: STATIC
  endpoints: [{address: "{{secure}}"}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: secure, namespace: shop}
spec:
  host: secure.example
  workloadSelector: {matchLabels: {app: client}}
  trafficPolicy: {tls: {mode: SIMPLE, sni: secure.example, caCertCredentialName: secure-roots}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: doubted, namespace: shop}
spec:
  host: doubted.example
  workloadSelector: {matchLabels: {app: client}}
  trafficPolicy: {tls: {mode: SIMPLE, sni: secure.example, caCertCredentialName: other-roots}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: flaky, namespace: shop}
spec:
  host: flaky
  trafficPolicy:
    loadBalancer: {simple: ROUND_ROBIN}
    outlierDetection: {consecutive5xxErrors: 0, failurePercentageThreshold: 40, interval: 3s, baseEjectionTime: 60s, maxEjectionPercent: 50}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: flaky, namespace: shop}
spec:
  hosts: [flaky]
  http: [{route: [{destination: {host: flaky}}], retries: {attempts: 0}}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: loaded, namespace: shop}
spec:
  host: loaded
  trafficPolicy:
    loadBalancer: {backendUtilization: {weightStabilizationPeriod: 0.2s, weightUpdatePeriod: 0.2s}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: named, namespace: shop}
spec:
  host: named
  trafficPolicy:
    loadBalancer:
      backendUtilization:
        weightStabilizationPeriod: 0.2s
        weightUpdatePeriod: 0.2s
        metricNamesForComputingUtilization: [named_metrics.queue]
---
${jwtRules("one", { ...identity, presence: "REQUIRED" })}
---
${jwtRules("both", { ...identity, presence: "REQUIRED" }, { ...scope, presence: "REQUIRED" })}
---
${jwtRules("mixed", identity, { ...scope, presence: "REQUIRED" })}
`;

/** A report of load in the format of ORCA. */
const report = (application: number, queue: number) => ({
  headers: {
    "endpoint-load-metrics": `JSON {"applicationUtilization": ${application}, "rpsFractional": 100, "namedMetrics": {"queue": ${queue}}}`,
  },
});

describe("a field of Istio's API 1.32", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    const [shop, secure] = await Promise.all([certificateFor("shop.example"), certificateFor("secure.example")]);
    let requests = 0;
    mesh = await startMesh({
      objects: objects(shop, secure),
      workloads: [
        { app: "client" },
        { app: "ingress", proxy: "router", namespace: "edge" },
        { app: "secure", proxy: "none", namespace: "outside", tls: secure.server },
        ...[1, 2, 3, 4, 5].map((n) => ({ app: "flaky", version: `v${n}`, proxy: "none" as const })),
        // Every other request fails: never two in a row.
        { app: "flaky", version: "bad", proxy: "none", answer: () => (requests++ % 2 === 0 ? { status: 500 } : {}) },
        { app: "loaded", version: "busy", proxy: "none", answer: () => report(0.9, 0) },
        { app: "loaded", version: "idle", proxy: "none", answer: () => report(0.1, 0) },
        { app: "named", version: "busy", proxy: "none", answer: () => report(0.1, 0.9) },
        { app: "named", version: "idle", proxy: "none", answer: () => report(0.9, 0.1) },
        { app: "one" },
        { app: "both" },
        { app: "mixed" },
      ],
    });
  }, 120_000);
  afterAll(() => mesh?.close());

  const versions = async (app: string, calls: number): Promise<readonly (string | undefined)[]> =>
    (await Promise.all(Array.from({ length: calls }, () => mesh.call("client", `http://${app}:8000/`)))).map(
      ({ seen, status }) => (status === 200 ? seen?.version : "failed"),
    );

  it("tls.alpnProtocols of a Gateway replaces what a server offers", async () => {
    const agreed = (port: number): Promise<string | false | null> =>
      new Promise((resolve, reject) => {
        const socket = connect({
          host: mesh.workload("ingress").address,
          port,
          servername: "shop.example",
          rejectUnauthorized: false,
          ALPNProtocols: ["h2", "http/1.1"],
        });
        socket.once("error", reject).once("secureConnect", () => {
          resolve(socket.alpnProtocol);
          socket.destroy();
        });
      });
    expect([await agreed(8443), await agreed(8444)]).toEqual(["h2", "http/1.1"]);
  });

  it("caCertCredentialName of a DestinationRule verifies the server by the roots of its Secret", async () => {
    await eventually(
      "the roots are served",
      async () => (await mesh.call("client", "http://secure.example:8000/")).seen?.workload === "secure",
    );
    const doubted = await mesh.call("client", "http://doubted.example:8000/");
    expect([doubted.status, doubted.text]).toEqual([503, expect.stringContaining("remote connection failure")]);
    expect(mesh.seen("secure").map(({ headers }) => headers.host)).not.toContain("doubted.example:8000");
  });

  it("failurePercentageThreshold ejects an endpoint whose failures are not consecutive", async () => {
    await eventually(
      "the bad endpoint is ejected",
      async () => {
        const seen = await versions("flaky", 200);
        return !seen.includes("failed") && !seen.includes("bad");
      },
      30_000,
    );
    const asked = mesh.seen("flaky-bad").length;
    await versions("flaky", 60);
    expect(mesh.seen("flaky-bad")).toHaveLength(asked);
  });

  it.each(["loaded", "named"])("backendUtilization sends less to the endpoint that reports more (%s)", async (app) => {
    await eventually(
      "weights follow the reports",
      async () => {
        const seen = await versions(app, 40);
        const busy = seen.filter((version) => version === "busy").length;
        return busy >= 1 && busy <= 10;
      },
      30_000,
    );
  });

  const status = async (app: string, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
    (await mesh.call("client", `http://${app}:8000/`, { headers })).status;
  const [ann, permit] = [{ authorization: `Bearer ${token("identity")}` }, { "x-scope": token("scope") }];
  const forger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const forged = { "x-scope": token("scope", forger) };

  it("presence: REQUIRED answers 401 without the token of its rule, whatever others have", async () => {
    expect([await status("one"), await status("one", ann), await status("one", permit)]).toEqual([401, 200, 401]);
    expect([
      await status("both"),
      await status("both", ann),
      await status("both", permit),
      await status("both", { ...ann, ...forged }),
      await status("both", { ...ann, ...permit }),
    ]).toEqual([401, 401, 401, 401, 200]);
    expect([
      await status("mixed"),
      await status("mixed", ann),
      await status("mixed", permit),
      await status("mixed", { ...ann, ...permit }),
      await status("mixed", { authorization: `Bearer ${token("identity", forger)}`, ...permit }),
    ]).toEqual([401, 401, 200, 200, 401]);
  });

  it("is accepted by every proxy", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});

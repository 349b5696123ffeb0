import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { connect } from "node:tls";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  certify,
  mint,
  type Minted,
  type ReceivedRequest,
  signingRequest,
  startTestSigner,
  uri,
} from "@istiod/ca/testing";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openExternalAuthority } from "../src/external-authority.js";
import { accountToken } from "./account-token.js";
import { scrape } from "@istiod/prometheus/testing";
import { istioTypes } from "@istiod/commands/testing";
import { folder, serve } from "./serving.js";

const identity = "spiffe://cluster.local/ns/shop/sa/web";
const until = { timeout: 30_000, interval: 50 };

let root: Minted;
beforeAll(async () => {
  root = await mint({ ca: true, subject: "CN=signer" });
});

async function cluster(): Promise<ApiServer> {
  const server = await startApiServer({ types: istioTypes, namespaces: ["shop", "istio-system"] });
  onTestFinished(() => server.stop());
  return server;
}

async function signer(server: ApiServer, signerName: string, sign: (asked: ReceivedRequest) => Promise<string>) {
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
  const running = startTestSigner({ client, signerName, sign });
  onTestFinished(() => {
    running.stop();
    client.close();
  });
  return running;
}

async function istiodOf(server: ApiServer, env: NodeJS.ProcessEnv, caCertificates: readonly object[] = []) {
  const files = await folder({
    kubeconfig: server.kubeconfig.yaml,
    "mesh.yaml": JSON.stringify({ caCertificates }),
  });
  return serve(
    {
      kubeconfig: join(files, "kubeconfig"),
      meshConfig: join(files, "mesh.yaml"),
      secureGRPCAddr: "127.0.0.1:0",
    },
    { EXTERNAL_CA: "ISTIOD_RA_KUBERNETES_API", CERT_SIGNER_DOMAIN: "issuers.example", ...env },
  );
}

type Istiod = Awaited<ReturnType<typeof serve>>;

/** The certificates that the workload `shop/web` gets, or the code and message of the error. */
async function certificates(
  istiod: Istiod,
  server: ApiServer,
  certSigner?: string,
): Promise<readonly string[] | string> {
  const token = await accountToken(server, { namespace: "shop", name: "web" });
  const client = createClient(
    IstioCertificateService,
    createGrpcTransport({
      baseUrl: `https://127.0.0.1:${istiod.addresses["secureGRPCAddr"]?.port}`,
      nodeOptions: { rejectUnauthorized: false },
      interceptors: [
        (next) => (call) => {
          call.header.set("authorization", `Bearer ${token}`);
          return next(call);
        },
      ],
    }),
  );
  const metadata = certSigner === undefined ? {} : { CertSigner: certSigner };
  return client.createCertificate({ csr: await signingRequest([uri(identity)]), metadata }).then(
    ({ certChain }) => certChain,
    (error: unknown) => {
      const { code, rawMessage } = ConnectError.from(error);
      return `${Code[code]}: ${rawMessage}`;
    },
  );
}

/** The issuer of the certificate that istiod serves. */
async function servedIssuer({ addresses }: Istiod, ca?: string): Promise<string> {
  const socket = connect({
    host: "127.0.0.1",
    port: addresses["secureGRPCAddr"]?.port ?? 0,
    servername: "istiod.istio-system.svc",
    ALPNProtocols: ["h2"],
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
  });
  try {
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return socket.getPeerX509Certificate()?.issuer ?? "";
  } finally {
    socket.destroy();
  }
}

const secret = (server: ApiServer) =>
  server.objects.get({ apiVersion: "v1", kind: "Secret", namespace: "istio-system", name: "istio-ca-secret" });

describe("EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API", () => {
  it("has the signer that a proxy names sign its certificate, and returns the root of the mesh configuration", async () => {
    const server = await cluster();
    const { received } = await signer(server, "issuers.example/a", (asked) => certify(asked, root));
    const istiod = await istiodOf(server, {}, [{ pem: root.pem, certSigners: ["issuers.example/a"] }]);
    const chain = await certificates(istiod, server, "a");
    expect(chain).toEqual([expect.stringContaining("BEGIN CERTIFICATE"), root.pem]);
    const leaf = new X509Certificate(chain[0] ?? "");
    expect([leaf.subjectAltName, leaf.verify(root.certificate.publicKey)]).toEqual([`URI:${identity}`, true]);
    expect(received[0]?.spec).toMatchObject({ signerName: "issuers.example/a", expirationSeconds: 86_400 });
    const verbose = await (await fetch(`${istiod.http}/ready?verbose`)).text();
    expect(verbose).toContain("[+]signer issuers.example/a: ok\n");
    // istiod's own certificate is signed by its own CA, as in Istio.
    expect(await servedIssuer(istiod)).toContain("O=cluster.local");
    expect(secret(server)).toBeDefined();
  });

  it("fails requests that no signer answers, with Istio's status, and reports it; its own CA signs none", async () => {
    const server = await cluster();
    await signer(server, "issuers.example/broken", async () => "garbage");
    const istiod = await istiodOf(server, { K8S_SIGNER: "issuers.example/broken" });
    expect(await certificates(istiod, server)).toMatch(
      /^Internal: CSR signing error \(signer issuers.example\/broken: .*no PEM block/,
    );
    const verbose = await fetch(`${istiod.http}/ready?verbose`);
    expect(verbose.status).toBe(200);
    expect(await verbose.text()).toMatch(/^\[-\]signer issuers.example\/broken: failed at /m);
    const metrics = await scrape(istiod);
    expect(metrics.value("citadel_server_csr_sign_err_count", { error: "CERT_GEN_ERROR" })).toBe(1);
    expect(metrics.value("citadel_server_success_cert_issuance_count") ?? 0).toBe(0);
    expect(metrics.value("istiod_signer_requests", { signer: "issuers.example/broken", result: "failed" })).toBe(1);
    expect(istiod.lines.map(({ msg }) => msg)).toContain("certificate request refused");
  });

  it("follows the file with the root of all signers", async () => {
    const server = await cluster();
    const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
    onTestFinished(() => client.close());
    const files = await folder({ "root-cert.pem": root.pem });
    const inputs = {
      env: { EXTERNAL_CA: "ISTIOD_RA_KUBERNETES_API", K8S_SIGNER: "issuers.example/a" },
      client,
      database: { read: () => undefined },
      meter: { counter: () => ({ add: () => undefined }), observeGauge: () => undefined },
      log: { info: () => undefined, error: () => undefined, warn: () => undefined },
    } as unknown as Parameters<typeof openExternalAuthority>[0];
    const [external, none] = [join(files, "root-cert.pem"), join(files, "none")];
    const opened = await openExternalAuthority(inputs, { external, cluster: none });
    onTestFinished(() => opened?.stop());
    expect(opened?.roots?.bundle.rootsPem).toBe(root.pem);
    const inCluster = await openExternalAuthority(inputs, { external: none, cluster: external });
    onTestFinished(() => inCluster?.stop());
    expect(inCluster?.roots?.bundle.rootsPem).toBe(root.pem);
    await expect(openExternalAuthority(inputs, { external: none, cluster: none })).rejects.toThrow(none);
  });
});

describe("PILOT_CERT_PROVIDER=k8s.io/<signer>", () => {
  const provider = { PILOT_CERT_PROVIDER: "k8s.io/issuers.example/a" };

  it("serves a certificate of the signer and distributes its root; istiod has no CA of its own", async () => {
    const server = await cluster();
    await signer(server, "issuers.example/a", (asked) => certify(asked, root));
    const istiod = await istiodOf(server, provider, [{ pem: root.pem, certSigners: ["issuers.example/a"] }]);
    expect(await servedIssuer(istiod, root.pem)).toBe("CN=signer");
    expect(await certificates(istiod, server, "a")).toEqual([expect.any(String), root.pem]);
    await vi.waitFor(() => {
      const name = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "istio-ca-root-cert" };
      expect(server.objects.get(name)?.["data"]).toEqual({ "root-cert.pem": root.pem });
    }, until);
    expect(secret(server)).toBeUndefined();
    expect(JSON.stringify(await (await fetch(`${istiod.http}/ready`)).text())).not.toContain("expired");
  });

  it("ends istiod if the signer fails or its root is unknown", async () => {
    const server = await cluster();
    await signer(server, "issuers.example/a", async () => "garbage");
    await expect(istiodOf(server, provider, [{ pem: root.pem, certSigners: ["issuers.example/a"] }])).rejects.toThrow(
      /^--secureGRPCAddr 127.0.0.1:0: signer issuers.example\/a: .*no PEM block/,
    );
    await expect(istiodOf(server, provider)).rejects.toThrow(
      "PILOT_CERT_PROVIDER=k8s.io/issuers.example/a: its root is unknown",
    );
  });

  it.each([
    [{ ...provider, EXTERNAL_CA: "" }, "requires EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API"],
    [{ PILOT_CERT_PROVIDER: "kubernetes" }, 'invalid value "kubernetes" for PILOT_CERT_PROVIDER'],
    [{ PILOT_CERT_PROVIDER: "k8s.io/" }, 'invalid value "k8s.io/" for PILOT_CERT_PROVIDER'],
    [{ EXTERNAL_CA: "vault" }, 'invalid value "vault" for EXTERNAL_CA: expected ISTIOD_RA_KUBERNETES_API'],
    [{ CERT_SIGNER_DOMAIN: "" }, "no signer is given, set K8S_SIGNER, or CERT_SIGNER_DOMAIN"],
  ])("ends istiod with %o", async (env, message) => {
    await expect(istiodOf(await cluster(), env)).rejects.toThrow(message);
  });
});

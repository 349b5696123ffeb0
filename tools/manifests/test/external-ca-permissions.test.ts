import { X509Certificate } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { certify, mint, type Minted, signingRequest, startTestSigner, uri } from "@istiod/ca/testing";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { createApiClient, parseKubeconfig, requestToken } from "@istiod/kubernetes";
import { expect, onTestFinished, test, vi } from "vitest";
import { installationUnavailable, installChart, type InstalledChart, startIstiod } from "./installed-istiod.js";

const unavailable = await installationUnavailable();
const until = { timeout: 60_000, interval: 100 };
const signerName = "issuers.example/mesh";
const provider = `k8s.io/${signerName}`;
const identity = "spiffe://cluster.local/ns/shop/sa/web";
const account = { namespace: "shop", name: "web" };

async function startSigner({ cluster }: InstalledChart, root: Minted) {
  const client = createApiClient(await parseKubeconfig(cluster.server.kubeconfig));
  const signer = startTestSigner({ client, signerName, sign: (asked) => certify(asked, root) });
  onTestFinished(() => {
    signer.stop();
    client.close();
  });
  return signer;
}

/** Returns the port of the secure listener once istiod is ready. */
async function securePort(log: readonly string[]): Promise<number> {
  return vi.waitFor(() => {
    const line = log.find((text) => text.includes('"msg":"ready"'));
    if (line === undefined) throw new Error(`istiod is not ready:\n${log.join("\n")}`);
    return (JSON.parse(line) as { readonly addresses: { readonly secureGRPCAddr: { readonly port: number } } })
      .addresses.secureGRPCAddr.port;
  }, until);
}

/** Returns the chain that a workload gets. */
async function requestChain({ cluster }: InstalledChart, port: number, ca: string): Promise<readonly string[]> {
  const { token } = await requestToken(cluster.client, account, { audiences: ["istio-ca"] });
  const transport = createGrpcTransport({
    baseUrl: `https://127.0.0.1:${port}`,
    nodeOptions: { ca, servername: "istiod.istio-system.svc" },
  });
  const headers = { authorization: `Bearer ${token}` };
  const csr = await signingRequest([uri(identity)]);
  const { certChain } = await createClient(IstioCertificateService, transport).createCertificate({ csr }, { headers });
  return certChain;
}

/** Reports whether istiod may approve the requests of a signer. */
async function mayApprove({ kubeconfig }: InstalledChart, name: string): Promise<boolean> {
  const client = createApiClient(await parseKubeconfig(kubeconfig));
  onTestFinished(() => client.close());
  const { status } = await client.json<{ readonly status: { readonly allowed: boolean } }>({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: JSON.stringify({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { group: "certificates.k8s.io", resource: "signers", verb: "approve", name } },
    }),
  });
  return status.allowed;
}

test("with the chart's permissions, a signer of the cluster signs istiod's certificate and those of workloads", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const root = await mint({ ca: true, subject: "CN=signer" });
  const installed = await installChart(
    [{ apiVersion: "v1", kind: "ServiceAccount", metadata: account }],
    "--set",
    `global.pilotCertProvider=${provider},global.certSigners={${signerName}}`,
    "--set",
    `env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API,env.K8S_SIGNER=${signerName},env.CERT_SIGNER_DOMAIN=issuers.example`,
    "--set-json",
    `meshConfig.caCertificates=${JSON.stringify([{ pem: root.pem, certSigners: [signerName] }])}`,
  );
  const signer = await startSigner(installed, root);
  const variables = ["EXTERNAL_CA", "K8S_SIGNER", "CERT_SIGNER_DOMAIN", "PILOT_CERT_PROVIDER"];
  const env = Object.fromEntries(
    installed.container.env
      .filter(({ name }) => variables.includes(name))
      .map(({ name, value = "" }) => [name, value] as const),
  );
  expect(env).toEqual({
    EXTERNAL_CA: "ISTIOD_RA_KUBERNETES_API",
    K8S_SIGNER: signerName,
    CERT_SIGNER_DOMAIN: "issuers.example",
    PILOT_CERT_PROVIDER: provider,
  });
  const log = await startIstiod(installed, env);

  const chain = await requestChain(installed, await securePort(log), root.pem);
  expect(new X509Certificate(chain[0] ?? "")).toMatchObject({ issuer: "CN=signer", subjectAltName: `URI:${identity}` });
  expect(chain.at(-1)).toBe(root.pem);
  expect(signer.received).toHaveLength(2);
  const read = (path: string): Promise<unknown> => installed.cluster.client.json({ path });
  await expect
    .poll(() => read("/apis/certificates.k8s.io/v1/certificatesigningrequests"), until)
    .toMatchObject({ items: [] });
  await expect
    .poll(() => read("/api/v1/namespaces/shop/configmaps/istio-ca-root-cert").catch(() => undefined), until)
    .toMatchObject({ data: { "root-cert.pem": root.pem } });
  expect(installed.proxy.forbidden).toEqual([]);
  expect(await Promise.all([signerName, "issuers.example/other"].map((name) => mayApprove(installed, name)))).toEqual([
    true,
    false,
  ]);
}, 240_000);

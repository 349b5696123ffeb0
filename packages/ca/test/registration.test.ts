import { X509Certificate } from "node:crypto";
import {
  CaError,
  KubernetesSigners,
  RegistrationAuthority,
  type RegistrationAuthorityOptions,
  SignerAuthority,
  type SignerRoots,
} from "@istiod/ca";
import {
  certify,
  mint,
  type Minted,
  type ReceivedRequest,
  signingRequest,
  startTestSigner,
  uri,
} from "@istiod/ca/testing";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ExtendedKeyUsageExtension, KeyUsageFlags } from "../src/x509.js";

const CART = "spiffe://td/ns/shop/sa/cart";
const signer = "example.com/mesh";
const kind = "certificatesigningrequests";

/** The parts of `@istiod/cluster` that these tests use. The package is not a dependency of this one. */
interface ClusterModule {
  startCluster(): Promise<{ readonly kubeconfig: string; stop(): Promise<void> }>;
  clusterUnavailable(): Promise<string | undefined>;
}

/** A server's kubeconfig, or the reason why it cannot run here. */
type Start = () => Promise<{ readonly kubeconfig: string; stop(): Promise<void> } | string>;

const servers: Readonly<Record<string, Start>> = {
  "in memory": async () => {
    const { kubeconfig, stop } = await startApiServer({ bookmarkIntervalMs: 1000 });
    return { kubeconfig: kubeconfig.yaml, stop };
  },
  real: async () => {
    const name = "@istiod/cluster";
    const cluster = (await import(name)) as ClusterModule;
    return (await cluster.clusterUnavailable()) ?? (await cluster.startCluster());
  },
};

let root: Minted;
let intermediate: Minted;
beforeAll(async () => {
  root = await mint({ ca: true, subject: "CN=root" });
  intermediate = await mint({ ca: true, subject: "CN=intermediate", issuer: root });
});

const noRoots: SignerRoots = { file: () => undefined, configured: () => undefined };
const request = (name = CART) => signingRequest([uri(name)]);

describe.each(Object.entries(servers))("a registration authority and a signer, API server %s", (_, start) => {
  let started: Awaited<ReturnType<Start>> = "the server did not start";
  let client: ApiClient;
  const stops: (() => void)[] = [];
  beforeAll(async () => {
    started = await start();
    if (typeof started !== "string") client = createApiClient(await parseKubeconfig(started.kubeconfig));
  });
  beforeEach((context) => {
    const reason = started;
    if (typeof reason === "string") context.skip(reason);
  });
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });
  afterAll(async () => {
    if (typeof started === "string") return;
    client.close();
    await started.stop();
  });

  const signs = (sign: (request: ReceivedRequest) => Promise<string | undefined>, signerName = signer) => {
    const running = startTestSigner({ client, signerName, sign });
    stops.push(() => running.stop());
    return running;
  };
  const signersWith = (deadlineMs = 20_000) => new KubernetesSigners({ client, deadlineMs });
  const authority = (options: Partial<RegistrationAuthorityOptions> = {}) =>
    new RegistrationAuthority({
      signers: signersWith(),
      roots: noRoots,
      defaultSigner: signer,
      signerDomain: "",
      ...options,
    });
  const left = async () =>
    (await client.json<{ readonly items: readonly object[] }>({ path: `/apis/certificates.k8s.io/v1/${kind}` })).items;

  it("creates and approves a request as Istio does, returns leaf, intermediates and root, and deletes it", async () => {
    const { received } = signs(async (asked) => (await certify(asked, intermediate)) + intermediate.pem);
    const csr = await request();
    const issued = await authority({ roots: { ...noRoots, file: () => root.pem } }).sign({
      request: csr,
      names: [CART],
      lifetime: 3600_000,
    });
    expect(received).toMatchObject([
      {
        metadata: { name: expect.stringMatching(/^csr-workload-[0-9a-f]{16}$/) },
        spec: {
          signerName: signer,
          usages: ["digital signature", "key encipherment", "server auth", "client auth"],
          expirationSeconds: 3600,
        },
        status: {
          conditions: [
            { type: "Approved", reason: "IstiodApproved", message: `istiod authenticated the requester as ${CART}` },
          ],
        },
      },
    ]);
    expect(Buffer.from(received[0]!.spec.request, "base64").toString().replace(/\s/g, "")).toBe(csr.replace(/\s/g, ""));
    const leaf = new X509Certificate(issued.certificate);
    expect(leaf.subjectAltName).toBe(`URI:${CART}`);
    expect(leaf.verify(intermediate.certificate.publicKey)).toBe(true);
    expect(issued).toMatchObject({ chain: [intermediate.pem], roots: root.pem, key: "P-256" });
    expect(issued.notAfter).toBe(Date.parse(leaf.validTo));
    expect(await left()).toEqual([]);
  });

  it("uses the signer in the request's metadata, in the domain of CERT_SIGNER_DOMAIN, with its own root", async () => {
    const other = await mint({ ca: true, subject: "CN=other" });
    signs((asked) => certify(asked, root));
    signs((asked) => certify(asked, other), "issuers.example.com/other");
    const configured = (name: string) => ({ [signer]: root.pem, "issuers.example.com/other": other.pem })[name];
    const options = { signerDomain: "issuers.example.com", roots: { ...noRoots, configured } };
    const issued = await authority(options).sign({ request: await request(), names: [CART], signer: "other" });
    expect(issued.roots).toBe(other.pem);
    const byDefault = await authority(options).sign({ request: await request(), names: [CART] });
    expect(byDefault.roots).toBe(root.pem);
    await expect(
      authority({ signerDomain: "" }).sign({ request: await request(), names: [CART], signer: "other" }),
    ).rejects.toMatchObject({ code: "signing", message: expect.stringContaining("CERT_SIGNER_DOMAIN is required") });
  });

  it("takes the root at the end of the chain if no other is known, and fails if there is none", async () => {
    let hasRoot = true;
    signs(async (asked) => (await certify(asked, intermediate)) + intermediate.pem + (hasRoot ? root.pem : ""));
    const issued = await authority().sign({ request: await request(), names: [CART] });
    expect(issued).toMatchObject({ chain: [intermediate.pem], roots: root.pem });
    hasRoot = false;
    await expect(authority().sign({ request: await request(), names: [CART] })).rejects.toMatchObject({
      code: "signer-root",
    });
  });

  it("fails if nobody signs, tells so in its status, and asks nobody else; it works again once somebody signs", async () => {
    const signers = signersWith(500);
    const ra = authority({ signers, roots: { ...noRoots, file: () => root.pem } });
    await expect(ra.sign({ request: await request(), names: [CART] })).rejects.toMatchObject({
      code: "signing",
      message: expect.stringMatching(/^signer example.com\/mesh: .* no certificate within 500 ms: nobody signs for it/),
    });
    expect(signers.statuses()).toMatchObject([{ signer, failure: { reason: expect.stringContaining("500 ms") } }]);
    expect(await left()).toEqual([]);
    signs((asked) => certify(asked, root));
    await expect
      .poll(async () => ra.sign({ request: await request(), names: [CART] }).then(() => "signed"), { timeout: 10_000 })
      .toBe("signed");
    expect(signers.statuses()).toEqual([{ signer, lastSuccess: expect.any(Number) }]);
  });

  it("stops waiting once its caller has gone, and deletes the request", async () => {
    const abort = new AbortController();
    const { received } = signs(async () => {
      abort.abort();
      return undefined;
    });
    await expect(
      authority().sign({ request: await request(), names: [CART], signal: abort.signal }),
    ).rejects.toMatchObject({ code: "signing" });
    expect(received).toHaveLength(1);
    expect(await left()).toEqual([]);
  });

  it("issues istiod's serving certificate", async () => {
    const { received } = signs(async (asked) => (await certify(asked, intermediate)) + intermediate.pem);
    const serving = new SignerAuthority({ signers: signersWith(), signer, roots: root.pem });
    const names = ["istiod.istio-system.svc", "istiod.example"];
    const { cert, key } = await serving.issueServingCertificate(names, 86_400_000, Date.now());
    expect(received[0]?.spec.usages).toEqual(["digital signature", "key encipherment", "server auth"]);
    const leaf = new X509Certificate(cert);
    expect(leaf.subjectAltName).toBe("DNS:istiod.istio-system.svc, DNS:istiod.example");
    expect(key).toContain("BEGIN PRIVATE KEY");
    expect(cert.trim().split("-----END CERTIFICATE-----")).toHaveLength(3);
  });
});

describe("a signer that returns something else than what was requested", () => {
  const sign = async (answer: (asked: ReceivedRequest) => Promise<string>, roots: Partial<SignerRoots> = {}) => {
    const ra = new RegistrationAuthority({
      signers: {
        sign: async ({ request: pem, usages }, read) =>
          read(
            await answer({
              metadata: { name: "test" },
              spec: { request: Buffer.from(pem).toString("base64"), signerName: signer, usages },
            }),
          ),
      },
      roots: { ...noRoots, file: () => root.pem, ...roots },
      defaultSigner: signer,
      signerDomain: "",
    });
    return ra.sign({ request: await request(), names: [CART] }).then(
      () => "signed",
      (error: unknown) => (error instanceof CaError ? `${error.code}: ${error.message}` : "another error"),
    );
  };
  const hour = 3600_000;

  it.each([
    ["no PEM", async () => "no certificate", /signing: .*no PEM block/],
    ["an empty answer", async () => "", /signing: .*no PEM block/],
    [
      "a certificate that cannot be read",
      async () => "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      /signing: .*cannot be read/,
    ],
    ["too much", async () => "x".repeat(300_000), /signing: .*300000 characters/],
    [
      "too many",
      async (asked: ReceivedRequest) => (await certify(asked, root)) + root.pem.repeat(10),
      /signing: .*11 certificates/,
    ],
    [
      "another key",
      async () => (await mint({ issuer: root, names: [uri(CART)] })).pem,
      /signing: .*has another key than the request/,
    ],
    [
      "another name",
      (asked: ReceivedRequest) => certify(asked, root, { names: [uri("spiffe://td/ns/shop/sa/admin")] }),
      /signing: .*is for URI:spiffe:\/\/td\/ns\/shop\/sa\/admin, requested was URI:spiffe:\/\/td\/ns\/shop\/sa\/cart/,
    ],
    [
      "a further name",
      (asked: ReceivedRequest) => certify(asked, root, { names: [uri(CART), { type: "dns", value: "bank.example" }] }),
      /signing: .*is for DNS:bank.example, URI/,
    ],
    ["no name", (asked: ReceivedRequest) => certify(asked, root, { names: [] }), /signing: .*is for nobody/],
    [
      "a CA",
      (asked: ReceivedRequest) => certify(asked, root, { ca: true, subject: "" }),
      /signing: .*is a CA certificate/,
    ],
    [
      "no client authentication",
      (asked: ReceivedRequest) => certify(asked, root, { extendedKeyUsages: ["1.3.6.1.5.5.7.3.1"] }),
      /signing: .*not for client authentication/,
    ],
    [
      "no server authentication",
      (asked: ReceivedRequest) => certify(asked, root, { extendedKeyUsages: ["1.3.6.1.5.5.7.3.2"] }),
      /signing: .*not for server authentication/,
    ],
    [
      "a key that may not sign",
      (asked: ReceivedRequest) => certify(asked, root, { keyUsages: KeyUsageFlags.keyEncipherment }),
      /signing: .*not for digital signatures/,
    ],
    [
      "a key that may sign certificates",
      (asked: ReceivedRequest) =>
        certify(asked, root, { keyUsages: KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign }),
      /signing: .*may sign certificates/,
    ],
    [
      "an expired certificate",
      (asked: ReceivedRequest) => certify(asked, root, { notBefore: -2 * hour, notAfter: -hour }),
      /signing: .*expired at/,
    ],
    [
      "a certificate of the future",
      (asked: ReceivedRequest) => certify(asked, root, { notBefore: hour, notAfter: 2 * hour }),
      /signing: .*not valid before/,
    ],
    [
      "a certificate for 91 days",
      (asked: ReceivedRequest) => certify(asked, root, { notAfter: 91 * 24 * hour }),
      /signing: .*longer than the 7776000 s allowed \(MAX_WORKLOAD_CERT_TTL\)/,
    ],
    [
      "a certificate of another root",
      async (asked: ReceivedRequest) => certify(asked, await mint({ ca: true, subject: "CN=root" })),
      /signing: .*does not lead to the root/,
    ],
    [
      "a chain without its intermediate",
      (asked: ReceivedRequest) => certify(asked, intermediate),
      /signing: .*does not lead to the root/,
    ],
  ] as const)("is rejected: %s", async (_, answer, expected) => {
    expect(await sign(answer)).toMatch(expected);
  });

  it("is told by Istio's kinds of errors which root it does not lead to", async () => {
    const other = await mint({ ca: true, subject: "CN=other" });
    const roots = { file: () => undefined, configured: () => other.pem };
    expect(await sign((asked) => certify(asked, root), roots)).toMatch(/^signer-root: .*does not lead to the root/);
    expect(await sign((asked) => certify(asked, root), { ...roots, configured: () => "garbage" })).toMatch(
      /^signer-root: mesh configuration: root of signer example.com\/mesh in caCertificates: no PEM block/,
    );
  });
});

describe("a request", () => {
  const unused = async (): Promise<never> => expect.fail("a signer was asked");
  const ra = new RegistrationAuthority({
    signers: { sign: unused },
    roots: noRoots,
    defaultSigner: signer,
    signerDomain: "",
  });
  const rejection = async (csr: string, names = [CART], lifetime = 0) =>
    ra.sign({ request: csr, names, lifetime }).then(
      () => "signed",
      (error: unknown) => (error instanceof CaError ? `${error.code}: ${error.message}` : "another error"),
    );

  it("reaches a signer only if it asks for the caller's identity and nothing else", async () => {
    const eku = new ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1"]);
    expect(await rejection(await signingRequest([uri("spiffe://td/ns/shop/sa/admin")]))).toBe(
      `csr: signing request: asks for "spiffe://td/ns/shop/sa/admin", the caller is ${CART}`,
    );
    const further = await signingRequest([uri(CART), { type: "dns", value: "bank.example" }]);
    expect(await rejection(further)).toMatch(/^csr: signing request: subject alternative names: unexpected bytes/);
    const dns = await signingRequest([{ type: "dns", value: "bank.example" }]);
    expect(await rejection(dns)).toMatch(/^csr: signing request: subject alternative name: found tag 0x82/);
    expect(await rejection(await signingRequest([]))).toMatch(/^csr: signing request: /);
    const named = await signingRequest([uri(CART)], { subject: "CN=bank.example" });
    expect(await rejection(named)).toMatch(/^csr: signing request: its subject must be empty/);
    const twice = await signingRequest([uri(CART)], { subject: "O=,O=evil" });
    expect(await rejection(twice)).toMatch(/^csr: signing request: /);
    expect(await rejection(await signingRequest([uri(CART)], { extensions: [eku] }))).toMatch(
      /^csr: signing request: extensions: unexpected bytes/,
    );
    expect(await rejection("none")).toMatch(/^csr: /);
    expect(await rejection(await request(), [CART, CART])).toMatch(/^csr: 2 names are requested/);
    expect(await rejection(await request(), [CART], 91 * 86_400_000)).toMatch(/^ttl: /);
  });

  it("names a signer of Kubernetes", async () => {
    const signers = new KubernetesSigners({ client: {} as ApiClient });
    const named = (name: string) =>
      new RegistrationAuthority({ signers, roots: noRoots, defaultSigner: name, signerDomain: "" });
    const csr = await request();
    await expect(named("../x").sign({ request: csr, names: [CART] })).rejects.toMatchObject({
      code: "signing",
      message: '"../x" is not the name of a Kubernetes signer',
    });
    await expect(named("").sign({ request: csr, names: [CART] })).rejects.toMatchObject({
      code: "signing",
      message: expect.stringContaining("K8S_SIGNER is not set"),
    });
  });
});

import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { mint, type Minted, type MintOptions, uri } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { clusterType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { folder, serve } from "./serving.js";

const ISTIOD = "spiffe://cluster.local/ns/istio-system/sa/istiod";
const WEB = "spiffe://cluster.local/ns/shop/sa/web";
const csr = `-----BEGIN CERTIFICATE REQUEST-----
MIHLMHMCAQAwETEPMA0GA1UEAwwGd2hvZXZlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
-----END CERTIFICATE REQUEST-----
`;

let own: Minted;
let partner: Minted;
let istiod: Awaited<ReturnType<typeof serve>>;
const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Starts istiod with a plugged-in CA and a partner's CA in --caCertFile. */
async function start(caCertTrustDomain: string, meshConfig = "{}"): Promise<void> {
  own = await mint({ ca: true, subject: "CN=own" });
  partner = await mint({ ca: true, subject: "CN=partner" });
  const root = await folder({
    "config/empty.yaml": "",
    "mesh.yaml": meshConfig,
    "cacerts/ca-cert.pem": own.pem,
    "cacerts/ca-key.pem": own.keyPem,
    "cacerts/cert-chain.pem": own.pem,
    "cacerts/root-cert.pem": own.pem,
    "partner.pem": partner.pem,
    "tokens/shop/web": "token-of-the-web-proxy",
    "tokens/bank/teller": "token-of-the-teller",
  });
  istiod = await serve(
    {
      configDir: join(root, "config"),
      meshConfig: join(root, "mesh.yaml"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
      caCertFile: join(root, "partner.pem"),
      caCertTrustDomain,
    },
    { ROOT_CA_DIR: join(root, "cacerts") },
  );
}

interface Credentials {
  readonly certificate?: Minted;
  readonly token?: string;
}

const port = (): number => istiod.addresses["secureGRPCAddr"]?.port ?? 0;
const headersOf = ({ token }: Credentials): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };
const tlsOf = ({ certificate }: Credentials) => ({
  rejectUnauthorized: false,
  ...(certificate && { cert: certificate.pem, key: certificate.keyPem }),
});

/** The outcome of a stream of a proxy that claims a namespace. */
async function stream(credentials: Credentials, namespace: string, type = clusterType): Promise<string> {
  const node = create(NodeSchema, {
    id: `sidecar~10.0.0.9~p.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace } as JsonObject,
  });
  const client = new XdsClient(
    { host: "127.0.0.1", port: port(), tls: tlsOf(credentials) },
    { variant: "delta", node, headers: headersOf(credentials) },
  );
  ends.push(() => client.close());
  client.subscribe(type, type === clusterType ? undefined : ["syncz"]);
  const outcome = await Promise.race([client.next(type).then(() => "served"), client.ended]);
  return typeof outcome === "string" ? outcome : (Code[outcome?.code ?? 0] ?? "ended");
}

/** The outcome of a certificate request. `InvalidArgument`: the caller is authenticated and the CSR is not readable. */
async function certify(credentials: Credentials): Promise<string> {
  const transport = createGrpcTransport({ baseUrl: `https://127.0.0.1:${port()}`, nodeOptions: tlsOf(credentials) });
  const client = createClient(IstioCertificateService, transport);
  const error = await client.createCertificate({ csr }, { headers: headersOf(credentials) }).then(
    () => undefined,
    (reason: unknown) => ConnectError.from(reason),
  );
  return error === undefined ? "issued" : (Code[error.code] ?? "");
}

const outcomes = async (credentials: Credentials, namespace: string): Promise<readonly string[]> => [
  await stream(credentials, namespace),
  await stream(credentials, namespace, "istio.io/debug"),
  await certify(credentials),
];
const byOwn = (names: readonly string[], more: MintOptions = {}): Promise<Minted> =>
  mint({ issuer: own, names: names.map(uri), ...more });
const byPartner = (names: readonly string[]): Promise<Minted> => mint({ issuer: partner, names: names.map(uri) });
const rejected = ["Unauthenticated", "Unauthenticated", "Unauthenticated"];

describe("with a CA of --caCertFile that belongs to no trust domain", () => {
  beforeEach(() => start(""));

  it("certificates of the mesh's CA are accepted", async () => {
    expect(await outcomes({ certificate: await byOwn([ISTIOD]) }, "istio-system")).toEqual([
      "served",
      "served",
      "InvalidArgument",
    ]);
    expect(await outcomes({ certificate: await byOwn([WEB]) }, "shop")).toEqual([
      "served",
      "PermissionDenied",
      "InvalidArgument",
    ]);
  });

  it("the CA of --caCertFile proves no identity, and a warning says so", async () => {
    expect(await outcomes({ certificate: await byPartner([ISTIOD]) }, "istio-system")).toEqual(rejected);
    expect(await outcomes({ certificate: await byPartner([WEB]) }, "shop")).toEqual(rejected);
    expect(await outcomes({ certificate: await byPartner(["spiffe://partner/ns/shop/sa/web"]) }, "shop")).toEqual(
      rejected,
    );
    expect(
      istiod.lines.filter(({ msg }) => msg.includes("belong to no trust domain")).map(({ level }) => level),
    ).toEqual(["warn"]);
  });

  it.each<[string, () => Promise<Minted>]>([
    ["another trust domain", () => byOwn(["spiffe://partner/ns/istio-system/sa/istiod"])],
    ["two URIs", () => byOwn([WEB, ISTIOD])],
    ["`..` in its path", () => byOwn(["spiffe://cluster.local/ns/../sa/web"])],
    ["user information", () => byOwn(["spiffe://a@cluster.local/ns/shop/sa/web"])],
    ["DNS names only", () => mint({ issuer: own, names: [{ type: "dns", value: "istiod.istio-system.svc" }] })],
    ["the flag of a CA", () => byOwn([WEB], { ca: true })],
    ["an expiry in the past", () => byOwn([WEB], { notAfter: -1000 })],
  ])("a certificate of the mesh's CA with %s is rejected", async (_, certificate) => {
    expect(await outcomes({ certificate: await certificate() }, "shop")).toEqual(rejected);
  });

  it("a certificate takes precedence over a token, and a rejected credential over none", async () => {
    const certificate = await byOwn([WEB]);
    const forged = await byPartner([ISTIOD]);
    expect(await stream({ certificate, token: "token-that-is-unknown" }, "shop")).toBe("served");
    expect(await stream({ certificate, token: "token-of-the-teller" }, "shop")).toBe("served");
    expect(await stream({ certificate, token: "token-of-the-teller" }, "bank")).toBe("PermissionDenied");
    expect(await stream({ certificate: forged, token: "token-of-the-teller" }, "bank")).toBe("served");
    expect(await stream({ certificate: forged, token: "token-of-the-teller" }, "istio-system")).toBe(
      "PermissionDenied",
    );
    expect(await stream({ certificate: forged, token: "token-that-is-unknown" }, "shop")).toBe("Unauthenticated");
  });

  it("the reason is logged and counted, and is not sent to the caller", async () => {
    await stream({ certificate: await byPartner([ISTIOD]), token: "token-that-is-unknown" }, "istio-system");
    const { msg } = istiod.lines.find((line) => line.msg.startsWith("Unauthorized XDS")) ?? { msg: "" };
    expect(msg).toContain(
      "client certificate: client certificate is not issued by a trusted root, or is not valid now",
    );
    expect(msg).toContain("token directory: token not in ");
    const metrics = await (await fetch(`${istiod.http}/metrics`)).text();
    expect(metrics).toContain('istiod_xds_rejected_callers_total{reason="unauthenticated"} 1');
  });
});

describe("with two trust domains", () => {
  it("the partner's CA proves its own identities, which are not authorized, whatever the aliases", async () => {
    await start("partner", "trustDomainAliases: [partner]");
    const guest = await byPartner(["spiffe://partner/ns/istio-system/sa/istiod"]);
    expect(await outcomes({ certificate: guest }, "istio-system")).toEqual([
      "PermissionDenied",
      "PermissionDenied",
      "Unauthenticated",
    ]);
    expect(await outcomes({ certificate: await byPartner([ISTIOD]) }, "istio-system")).toEqual(rejected);
    expect(await outcomes({ certificate: await byOwn(["spiffe://partner/ns/shop/sa/web"]) }, "shop")).toEqual(rejected);
    const metrics = await (await fetch(`${istiod.http}/metrics`)).text();
    expect(metrics).toContain('istiod_xds_rejected_callers_total{reason="trust_domain"} 2');
    expect(metrics).toContain('istiod_xds_rejected_callers_total{reason="unauthenticated"} 4');
  });

  it("--caCertTrustDomain with the mesh's trust domain makes the CA an equal of the mesh's own", async () => {
    await start("cluster.local");
    expect(await stream({ certificate: await byPartner([WEB]) }, "shop")).toBe("served");
    expect(await stream({ certificate: await byPartner(["spiffe://partner/ns/shop/sa/web"]) }, "shop")).toBe(
      "Unauthenticated",
    );
  });
});

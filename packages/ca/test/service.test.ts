import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { X509Certificate } from "node:crypto";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { afterAll, describe, expect, it } from "vitest";
import {
  type Authenticator,
  CertificateAuthority,
  certificateRoutes,
  type CertificateServiceOptions,
  clientCertificates,
  connectionValues,
  issueServingCertificate,
  istiodNames,
  keepServingCertificate,
  type RenewedCertificate,
  createSelfSignedRoot,
  selfSignedBundle,
  trustBundleOf,
  signErrorLabel,
  staticTokens,
} from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";
import { P256, request, show, verify } from "./openssl.js";

const CART = "spiffe://td/ns/shop/sa/cart";
const TOKEN = "0123456789abcdef";
const tokens = staticTokens([
  [TOKEN, { trustDomain: "td", namespace: "shop", serviceAccount: "cart" }],
  ["ztunnel-0123456789", { trustDomain: "td", namespace: "istio-system", serviceAccount: "ztunnel" }],
]);

async function makeAuthority(): Promise<CertificateAuthority> {
  const root = await createSelfSignedRoot({ organization: "td", key: { type: "ecdsa", curve: "P-256" } }, Date.now());
  return new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
}

/** The service on a TLS port, as istiod serves it, and clients of it. */
async function serve(
  options: Partial<Omit<CertificateServiceOptions, "authority">> & { readonly authority?: CertificateAuthority } = {},
) {
  const authority = options.authority ?? (await makeAuthority());
  const serving = await issueServingCertificate(
    authority,
    ["istiod.istio-system.svc", "127.0.0.1"],
    3600_000,
    Date.now(),
  );
  const routes = certificateRoutes({
    authority,
    trustDomain: "td",
    authenticators: [clientCertificates({ bundles: () => [trustBundleOf("td", authority.bundle)] }), tokens],
    ...options,
  });
  const server = http2.createSecureServer(
    {
      key: serving.key,
      cert: serving.cert,
      ca: authority.bundle.rootsPem,
      requestCert: true,
      rejectUnauthorized: false,
    },
    connectNodeAdapter({ routes, contextValues: connectionValues }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  afterAll(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const client = (token?: string, identity?: { key: string; cert: string }) =>
    createClient(
      IstioCertificateService,
      createGrpcTransport({
        baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
        nodeOptions: { ca: authority.bundle.rootsPem, ...identity },
        interceptors: token === undefined ? [] : [bearer(token)],
      }),
    );
  return { authority, client };
}

const bearer =
  (token: string): Interceptor =>
  (next) =>
  (call) => {
    call.header.set("authorization", `Bearer ${token}`);
    return next(call);
  };

const failure = async (call: Promise<unknown>): Promise<{ code: Code; message: string }> => {
  const error = await call.then(
    () => expect.fail("the call succeeded"),
    (reason: unknown) => ConnectError.from(reason),
  );
  return { code: error.code, message: error.rawMessage };
};

describe("CreateCertificate", () => {
  it("is answered once the deadline has passed, and its work ends", async () => {
    const authority = await makeAuthority();
    const ends: unknown[] = [];
    let signed = 0;
    authority.sign = ({ signal }) =>
      new Promise((_, reject) => {
        signed++;
        signal?.addEventListener("abort", () => {
          ends.push(ConnectError.from(signal.reason).code);
          reject(new Error("aborted"));
        });
      });
    let signingFailures = 0;
    const { client } = await serve({ authority, events: { signingFailed: () => signingFailures++ } });
    const csr = (await request(P256)).request;
    const answer = failure(client(TOKEN).createCertificate({ csr }, { headers: { "grpc-timeout": "200m" } }));
    expect((await answer).code).toBe(Code.DeadlineExceeded);
    expect([ends, signed, signingFailures]).toEqual([[Code.DeadlineExceeded], 1, 0]);

    // Nothing is signed for a caller whose authentication took too long.
    let authenticate: () => void = () => undefined;
    const authenticated = new Promise<void>((resolve) => (authenticate = resolve));
    const late: Authenticator = {
      name: "late",
      authenticate: async (credentials) => authenticated.then(() => tokens.authenticate(credentials)),
    };
    const other = await serve({ authority, authenticators: [late] });
    const code = failure(other.client(TOKEN).createCertificate({ csr }, { headers: { "grpc-timeout": "50m" } }));
    expect((await code).code).toBe(Code.DeadlineExceeded);
    authenticate();
    await new Promise((resolve) => setImmediate(resolve));
    expect(signed).toBe(1);
  });

  it("returns one PEM per element, each with a newline at its end, the root last", async () => {
    const { authority, client } = await serve();
    const { certChain } = await client(TOKEN).createCertificate({
      csr: (await request(P256)).request,
      validityDuration: 3600n,
    });
    expect(certChain).toHaveLength(2);
    for (const pem of certChain) {
      expect(pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
      expect(pem.endsWith("-----END CERTIFICATE-----\n")).toBe(true);
    }
    expect(certChain[1]).toBe(authority.bundle.rootsPem);
    await verify(certChain);
    expect(await show(certChain[0]!)).toContain(`URI:${CART}`);
    const { validFrom, validTo } = new X509Certificate(certChain[0]!);
    expect(Date.parse(validTo) - Date.parse(validFrom)).toBe(3600_000 + 120_000);
  });

  it("authenticates callers by client certificate, so that workloads can renew", async () => {
    const { client } = await serve();
    const csr = await request(P256);
    const first = await client(TOKEN).createCertificate({ csr: csr.request });
    const again = await client(undefined, { key: csr.key, cert: first.certChain[0]! }).createCertificate({
      csr: (await request(P256)).request,
    });
    expect(await show(again.certChain[0]!)).toContain(`URI:${CART}`);
  });

  it("rejects client certificates of another root", async () => {
    const { client } = await serve();
    const stranger = await makeAuthority();
    const csr = await request(P256);
    const forged = await stranger.sign({ request: csr.request, names: [CART] });
    expect(
      await failure(
        client(undefined, { key: csr.key, cert: forged.certificate }).createCertificate({ csr: csr.request }),
      ),
    ).toEqual({
      code: Code.Unauthenticated,
      message: "request authenticate failure",
    });
  });

  it("rejects callers without credentials or with a wrong token; only events have the reason", async () => {
    const reasons: string[] = [];
    const { client } = await serve({ events: { authenticationFailed: (error) => reasons.push(error.message) } });
    const csr = (await request(P256)).request;
    for (const caller of [client(), client("wrong-0123456789")]) {
      expect(await failure(caller.createCertificate({ csr }))).toEqual({
        code: Code.Unauthenticated,
        message: "request authenticate failure",
      });
    }
    expect(reasons[0]).toContain("no credentials of this kind");
    expect(reasons[1]).toContain("unknown token");
  });

  it("describes invalid requests", async () => {
    const labels: string[] = [];
    const { client } = await serve({ events: { signingFailed: (error) => labels.push(signErrorLabel(error.code)) } });
    expect(await failure(client(TOKEN).createCertificate({ csr: "nonsense" }))).toEqual({
      code: Code.InvalidArgument,
      message: 'CSR signing error (signing request: no PEM block "CERTIFICATE REQUEST" found)',
    });
    const csr = (await request(P256)).request;
    for (const validityDuration of [90n * 24n * 3600n + 1n, 2n ** 63n - 1n]) {
      expect(await failure(client(TOKEN).createCertificate({ csr, validityDuration }))).toMatchObject({
        code: Code.InvalidArgument,
      });
    }
    await client(TOKEN).createCertificate({ csr, validityDuration: -(2n ** 63n) });
    expect(labels).toEqual(["CSR_ERROR", "TTL_ERROR", "TTL_ERROR"]);
  });

  it("reports events", async () => {
    const seen: string[] = [];
    const { client } = await serve({
      events: {
        requested: () => seen.push("requested"),
        authenticationFailed: () => seen.push("unauthenticated"),
        issued: ({ names, caller }) => seen.push(`issued ${names} by ${caller.by}`),
      },
    });
    const csr = (await request(P256)).request;
    await client(TOKEN).createCertificate({ csr });
    await failure(client().createCertificate({ csr }));
    expect(seen).toEqual(["requested", `issued ${CART} by static token`, "requested", "unauthenticated"]);
  });

  it("issues certificates for another identity only to callers that may impersonate it", async () => {
    const csr = (await request(P256)).request;
    const metadata = { ImpersonatedIdentity: CART };
    const refused = { code: Code.Unauthenticated, message: "request impersonation authentication failure" };
    const nobody = await serve();
    expect(await failure(nobody.client("ztunnel-0123456789").createCertificate({ csr, metadata }))).toEqual(refused);
    const reasons: string[] = [];
    const node = await serve({
      authorizeImpersonation: ({ identities }) => {
        if (identities[0] !== "spiffe://td/ns/istio-system/sa/ztunnel") throw new Error("not a node agent");
      },
      events: { authenticationFailed: ({ message }) => reasons.push(message) },
    });
    const { certChain } = await node.client("ztunnel-0123456789").createCertificate({ csr, metadata });
    expect(await show(certChain[0]!)).toContain(`URI:${CART}`);
    expect(await failure(node.client(TOKEN).createCertificate({ csr, metadata }))).toEqual(refused);
    for (const ImpersonatedIdentity of ["DNS:evil", "spiffe://other/ns/shop/sa/cart", `${CART}/x`])
      expect(
        await failure(node.client("ztunnel-0123456789").createCertificate({ csr, metadata: { ImpersonatedIdentity } })),
      ).toEqual(refused);
    expect(reasons).toEqual([
      `${CART} may not impersonate "${CART}": not a node agent`,
      ...["DNS:evil", "spiffe://other/ns/shop/sa/cart", `${CART}/x`].map(
        (identity) =>
          `spiffe://td/ns/istio-system/sa/ztunnel may not impersonate "${identity}": not an identity of trust domain td`,
      ),
    ]);
  });

  it.each([
    [false, Code.Unauthenticated],
    [true, undefined],
  ])("over plaintext takes a token only when told to (%s)", async (plaintext, code) => {
    const authority = await makeAuthority();
    const routes = certificateRoutes({ authority, trustDomain: "td", authenticators: [tokens], plaintext });
    const server = http2.createServer(connectNodeAdapter({ routes, contextValues: connectionValues }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const session = new Set<http2.ServerHttp2Session>();
    server.on("session", (open) => session.add(open));
    const transport = createGrpcTransport({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      interceptors: [bearer(TOKEN)],
    });
    const outcome = await createClient(IstioCertificateService, transport)
      .createCertificate({ csr: (await request(P256)).request })
      .then(
        () => undefined,
        (error: unknown) => ConnectError.from(error).code,
      );
    expect(outcome).toBe(code);
    for (const open of session) open.destroy();
    server.close();
  });
});

describe("istiod's serving certificate", () => {
  it("has the DNS names of istiod", async () => {
    const names = istiodNames({
      namespace: "istio-system",
      revision: "canary",
      discoveryHost: "istiod-canary.istio-system.svc",
      customHosts: ["istiod.example.com"],
    });
    expect(names).toEqual([
      "istiod.example.com",
      "istiod-canary.istio-system.svc",
      "istiod.istio-system.svc",
      "istiod-remote.istio-system.svc",
      "istio-pilot.istio-system.svc",
    ]);
    const authority = await makeAuthority();
    const serving = await issueServingCertificate(authority, [...names, "127.0.0.1", "::1"], 3600_000, Date.now());
    const text = await show(serving.cert);
    for (const name of names) expect(text).toContain(`DNS:${name}`);
    expect(text).toContain("IP Address:127.0.0.1");
    expect(text).toContain("IP Address:0:0:0:0:0:0:0:1");
    await verify([serving.cert, authority.bundle.rootsPem]);
    expect(
      new X509Certificate(serving.cert).checkPrivateKey((await import("node:crypto")).createPrivateKey(serving.key)),
    ).toBe(true);
  });

  it("is renewed at half its lifetime and when the CA changes", async () => {
    const clock = new FakeClock(Date.UTC(2030, 0, 1));
    const root = await createSelfSignedRoot(
      { organization: "td", key: { type: "ecdsa", curve: "P-256" } },
      clock.now(),
    );
    const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", clock.now()), clock });
    const given: string[] = [];
    const due: number[] = [];
    const onCertificate = ({ cert, renewalDue }: RenewedCertificate) => {
      given.push(cert);
      due.push(renewalDue);
    };
    const stop = await keepServingCertificate({
      authority,
      names: ["istiod"],
      lifetime: 1000_000,
      clock,
      onCertificate,
    });
    expect(given).toHaveLength(1);
    expect(due).toEqual([clock.now() + 500_000]);
    clock.advance(499_999);
    expect(given).toHaveLength(1);
    clock.advance(1);
    await expect.poll(() => given.length).toBe(2);
    const other = await createSelfSignedRoot(
      { organization: "td2", key: { type: "ecdsa", curve: "P-256" } },
      clock.now(),
    );
    authority.use(selfSignedBundle(other, "test", clock.now()));
    await expect.poll(() => given.length).toBe(3);
    await verify([given[2]!, authority.bundle.rootsPem], { at: clock.now() / 1000 });
    stop();
    expect(clock.pending).toEqual([]);
  });
});

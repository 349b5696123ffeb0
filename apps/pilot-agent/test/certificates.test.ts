import { createPrivateKey, X509Certificate } from "node:crypto";
import { createServer, type Http2Server } from "node:http2";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import {
  type Secret as EnvoySecret,
  SecretSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { mint, mintRevocationList } from "@istiod/ca/testing";
import { SecretDiscoveryService } from "@istiod/envoy-api/envoy/service/secret/v3/sds";
import { FakeClock } from "@istiod/runtime/testing";
import { afterAll, describe, expect, it } from "vitest";
import { fileToken } from "../src/credentials/file-token.js";
import { type CaClientOptions, requestCertificate } from "../src/certificates/ca-client.js";
import { AgentError } from "../src/errors.js";
import { expectedName } from "../src/certificates/control-plane-tls.js";
import { readSecret, watchSecret } from "../src/certificates/file-secret.js";
import { generateCsr, type KeySettings } from "../src/certificates/csr.js";
import { parseListedRoots, parseSecretFiles, type Secret, type SecretSource } from "../src/certificates/secret.js";
import { type IssuedCertificate, WorkloadCertificate } from "../src/certificates/workload-certificate.js";
import { WorkloadFiles } from "../src/certificates/workload-files.js";
import { workloadSecrets } from "../src/certificates/workload-secrets.js";
import { silentLog } from "../src/log.js";
import { openUpstream } from "../src/xds-proxy/upstream.js";
import { sdsRoutes } from "../src/sds/sds-service.js";
import { listenOnSocket } from "../src/socket.js";
import { FakeIstiod, put, scratch, TOKEN } from "./fakes.js";

const RSA: KeySettings = { eccAlgorithm: "", eccCurve: "P256", rsaKeySize: 2048, pkcs8Key: false };
const EC: KeySettings = { ...RSA, eccAlgorithm: "ECDSA" };
const CART = "spiffe://cluster.local/ns/shop/sa/cart";

async function authorityClient(istiod: FakeIstiod, more: Partial<CaClientOptions> = {}): Promise<CaClientOptions> {
  const directory = await scratch();
  await put(join(directory, "root.pem"), istiod.root);
  await put(join(directory, "token"), TOKEN);
  return {
    address: `127.0.0.1:${istiod.port}`,
    tls: { rootFile: join(directory, "root.pem") },
    token: fileToken(join(directory, "token")),
    identity: CART,
    key: EC,
    lifetime: 3600_000,
    clusterId: "Kubernetes",
    ...more,
  };
}

it("reads the delay that an authority with too many requests asks for", async () => {
  const server = createServer((_, response) => {
    const status = { "grpc-status": "8", "grpc-message": "too many", "grpc-retry-pushback-ms": "1234" };
    response.writeHead(200, { "content-type": "application/grpc", ...status }).end();
  });
  afterAll(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const options = await authorityClient(await FakeIstiod.start());
  const { tls: _, ...plaintext } = options;
  await expect(requestCertificate({ ...plaintext, address: `127.0.0.1:${port}` })).rejects.toMatchObject({
    code: "authority",
    retryAfter: 1234,
  });
});

describe("generateCsr", () => {
  it.each<[string, KeySettings, string]>([
    ["RSA", RSA, "BEGIN RSA PRIVATE KEY"],
    ["P-256", EC, "BEGIN EC PRIVATE KEY"],
    ["P-384", { ...EC, eccCurve: "P384" }, "BEGIN EC PRIVATE KEY"],
    ["PKCS#8", { ...EC, pkcs8Key: true }, "BEGIN PRIVATE KEY"],
  ])("generates %s keys", async (_, settings, head) => {
    const { key, csr } = await generateCsr(CART, settings);
    expect(key).toContain(head);
    expect(csr).toContain("BEGIN CERTIFICATE REQUEST");
  });
});

describe("the CA client", () => {
  it("requests a certificate for a new key with the token", async () => {
    const istiod = await FakeIstiod.start();
    for (const key of [RSA, EC]) {
      const issued = await requestCertificate(await authorityClient(istiod, { key }));
      const leaf = new X509Certificate(issued.chain);
      expect(leaf.subjectAltName).toBe(`URI:${CART}`);
      expect(leaf.checkPrivateKey(createPrivateKey(issued.key))).toBe(true);
      expect(issued.roots).toBe(istiod.root);
      expect(issued.notAfter).toBe(Date.parse(leaf.validTo));
    }
    expect(istiod.headers[0]).toMatchObject({ clusterid: "Kubernetes" });
  });

  it("uses plaintext only if configured", async () => {
    const istiod = await FakeIstiod.start({}, { tls: false });
    const { tls: _, ...plain } = await authorityClient(istiod);
    expect(new X509Certificate((await requestCertificate(plain)).chain).subjectAltName).toBe(`URI:${CART}`);
  });

  it.each<[string, (options: CaClientOptions) => Promise<CaClientOptions>, RegExp]>([
    [
      "there is no token",
      async (o) => ({ ...o, token: fileToken("/none/token") }),
      /rejected the request as unauthenticated: no token in \/none\/token/,
    ],
    [
      "the token is wrong",
      async (o) => (await put(o.token.name, "wrong-token-of-nobody"), o),
      /did not authenticate the token in/,
    ],
    [
      "its root is another",
      async (o) => (await put(o.tls!.rootFile, (await FakeIstiod.start()).root), o),
      /certificate authority 127\.0\.0\.1:\d+: .*certificate/,
    ],
    [
      "its root is missing",
      async (o) => ({ ...o, tls: { rootFile: "/none/root.pem" } }),
      /root certificate of the control plane cannot be read/,
    ],
    [
      "its name is another",
      async (o) => ({ ...o, tls: { ...o.tls!, serverName: "elsewhere.example" } }),
      /certificate authority 127\.0\.0\.1:\d+: the server's certificate is for istiod\.istio-system\.svc, 127\.0\.0\.1, expected elsewhere\.example; set ISTIOD_SAN to expect another name$/,
    ],
    [
      "its address is another",
      async (o) => ({ ...o, tls: { ...o.tls!, serverName: "127.0.0.9" } }),
      /the server's certificate is for istiod\.istio-system\.svc, 127\.0\.0\.1, expected 127\.0\.0\.9; set ISTIOD_SAN/,
    ],
    [
      "it is not there",
      async (o) => ({ ...o, address: "127.0.0.1:1" }),
      /certificate authority 127\.0\.0\.1:1: .*ECONNREFUSED/,
    ],
  ])("fails with one sentence when %s", async (_, change, words) => {
    const istiod = await FakeIstiod.start();
    const failure = await requestCertificate(await change(await authorityClient(istiod))).then(
      () => expect.fail("it worked"),
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ name: "AgentError" });
    expect((failure as Error).message).toMatch(words);
    expect((failure as Error).message).not.toContain("\n");
  });

  it("accepts a configured server name", async () => {
    const istiod = await FakeIstiod.start();
    const options = await authorityClient(istiod);
    await requestCertificate({ ...options, tls: { ...options.tls!, serverName: "istiod.istio-system.svc" } });
    await requestCertificate({
      ...options,
      address: `localhost:${istiod.port}`,
      tls: { ...options.tls!, serverName: "127.0.0.1" },
    });
  });

  it.each([
    ["istiod.shop.svc:15012", "istiod.shop.svc"],
    ["127.0.0.1:15012", "127.0.0.1"],
    ["[fd00::1]:15012", "fd00::1"],
    ["localhost:15012", "istiod.istio-system.svc"],
  ])("expects the server at %s to be %s", (address, name) => {
    expect(expectedName(address)).toBe(name);
  });

  it("names the server's certificate if the name does not match", async () => {
    const istiod = await FakeIstiod.start();
    const { address, tls, token, clusterId } = await authorityClient(istiod);
    const failed = openUpstream({ address, tls: { ...tls!, serverName: "istiod.shop.svc" }, token, clusterId });
    await expect(failed).rejects.toThrow(
      `failed to connect to upstream ${address}: the server's certificate is for istiod.istio-system.svc, 127.0.0.1, expected istiod.shop.svc; set ISTIOD_SAN`,
    );
  });

  it("connects to localhost through a forwarded port", async () => {
    const istiod = await FakeIstiod.start();
    expect(
      (await requestCertificate({ ...(await authorityClient(istiod)), address: `localhost:${istiod.port}` })).roots,
    ).toBe(istiod.root);
  });
});

describe("the workload certificate", () => {
  const HOUR = 3600_000;
  function keeper(more: Partial<ConstructorParameters<typeof WorkloadCertificate>[0]> = {}) {
    const clock = new FakeClock(Date.UTC(2030, 0, 1));
    let count = 0;
    const state = { fail: false };
    const certificate = new WorkloadCertificate({
      issue: async () => {
        if (state.fail) throw new Error("istiod is away");
        return { key: `key ${++count}`, chain: `chain ${count}`, roots: "roots", notAfter: clock.now() + 24 * HOUR };
      },
      clock,
      random: () => 0.5,
      ...more,
    });
    const given: IssuedCertificate[] = [];
    certificate.watch((issued) => given.push(issued));
    return { clock, certificate, given, state };
  }

  it("is renewed when half of its lifetime remains", async () => {
    const { clock, certificate, given } = keeper();
    certificate.start();
    await expect.poll(() => given.length).toBe(1);
    expect(clock.pending).toEqual([12 * HOUR]);
    clock.advance(12 * HOUR - 1);
    expect(given).toHaveLength(1);
    clock.advance(1);
    await expect.poll(() => given.map(({ key }) => key)).toEqual(["key 1", "key 2"]);
    certificate.stop();
    expect(clock.pending).toEqual([]);
  });

  it.each([
    [0, 24 * HOUR * 0.51],
    [1, 24 * HOUR * 0.49],
  ])("is renewed with jitter (%s)", async (chance, wait) => {
    const { clock, certificate, given } = keeper({ random: () => chance });
    certificate.start();
    await expect.poll(() => given.length).toBe(1);
    expect(clock.pending[0]).toBeCloseTo(wait, 0);
  });

  it("is requested again with backoff, and the current one stays active", async () => {
    const { clock, certificate, given, state } = keeper();
    certificate.start();
    await expect.poll(() => given.length).toBe(1);
    state.fail = true;
    clock.advance(12 * HOUR);
    for (const wait of [375, 750, 1500, 3000, 6000, 12_000, 22_500, 22_500]) {
      await expect.poll(() => clock.pending).toEqual([wait]);
      expect(certificate.current?.key).toBe("key 1");
      clock.advance(wait);
    }
    state.fail = false;
    await expect.poll(() => clock.pending).toEqual([22_500]);
    clock.advance(22_500);
    await expect.poll(() => given.map(({ key }) => key)).toEqual(["key 1", "key 2"]);
    await expect.poll(() => clock.pending).toEqual([12 * HOUR]);
  });

  it.each([
    [20_000, 20_000],
    [999_999_999, 30_000],
    [100, 375],
  ])("is requested again after the delay that the authority asks for (%s ms: %s)", async (retryAfter, wait) => {
    const { clock, certificate } = keeper({
      issue: () => Promise.reject(new AgentError("authority", "too many requests", { retryAfter })),
    });
    certificate.start();
    await expect.poll(() => clock.pending).toEqual([wait]);
  });

  it("is requested at most once a second if issued expired", async () => {
    const { clock, certificate, given } = keeper({
      issue: async () => ({ key: "k", chain: "c", roots: "r", notAfter: 0 }),
    });
    certificate.start();
    await expect.poll(() => given.length).toBe(1);
    expect(clock.pending).toEqual([1000]);
  });
});

/** Returns a key, its certificate and root in PEM. */
async function pair(): Promise<{ key: string; chain: string; roots: string }> {
  const istiod = await sharedIstiod;
  const { key, csr } = await generateCsr(CART, EC);
  const issued = await istiod.authority.sign({ request: csr, names: [CART] });
  return { key, chain: issued.certificate, roots: issued.roots };
}
const sharedIstiod = FakeIstiod.start();

describe("a file secret", () => {
  it("is named by its paths", () => {
    expect(parseSecretFiles("file-cert:/a/c.pem~/a/k.pem")).toEqual({
      kind: "certificate",
      chain: "/a/c.pem",
      key: "/a/k.pem",
    });
    expect(parseSecretFiles("file-root:/a/r.pem")).toEqual({ kind: "roots", path: "/a/r.pem" });
    expect(parseSecretFiles("file-root:system")).toEqual({ kind: "system roots" });
    for (const roots of ["ROOTCA", "file-root:system", "file-root:/a/r.pem"])
      expect(parseListedRoots(`${roots}~/a/crl.pem`)).toEqual({ roots, path: "/a/crl.pem" });
    for (const name of ["ROOTCA", "file-root:~/c", "file-root:a~", "file-root:a~b~c", "default~/c", "file-cert:a~b"])
      expect(parseListedRoots(name)).toBeUndefined();
    for (const name of ["default", "file-cert:/a", "file-cert:a~b~c", "file-root:", "kubernetes://x"])
      expect(parseSecretFiles(name)).toBeUndefined();
  });

  it("is sent once the key matches the certificate, and after each change", async () => {
    const directory = await scratch();
    const [first, second] = [await pair(), await pair()];
    const paths = { kind: "certificate", chain: join(directory, "c.pem"), key: join(directory, "k.pem") } as const;
    const given: Secret[] = [];
    const stop = watchSecret({ paths, quiet: 10 }, (secret) => given.push(secret));
    await writeFile(paths.chain, first.chain);
    await writeFile(paths.key, first.key);
    await expect.poll(() => given).toEqual([{ kind: "certificate", chain: first.chain, key: first.key }]);
    await writeFile(paths.key, second.key);
    await expect(readSecret(paths)).rejects.toThrow("the private key does not match the certificate");
    await writeFile(paths.chain, second.chain);
    await expect.poll(() => given.length).toBe(2);
    expect(given[1]).toEqual({ kind: "certificate", chain: second.chain, key: second.key });
    stop();
  });

  it("follows the symbolic links of a Secret volume, and waits for an absent directory", async () => {
    const directory = join(await scratch(), "later", "volume");
    const [first, second] = [await pair(), await (await FakeIstiod.start()).root];
    const given: string[] = [];
    const stop = watchSecret(
      { paths: { kind: "roots", path: join(directory, "root.pem") }, quiet: 10 },
      (secret) => secret.kind === "roots" && given.push(secret.roots),
    );
    await mkdir(join(directory, "..v1"), { recursive: true });
    await mkdir(join(directory, "..v2"));
    await writeFile(join(directory, "..v1", "root.pem"), first.roots);
    await writeFile(join(directory, "..v2", "root.pem"), second);
    await symlink("..v1", join(directory, "..data"));
    await symlink("..data/root.pem", join(directory, "root.pem"));
    await expect.poll(() => given, { timeout: 10_000 }).toEqual([first.roots]);
    await symlink("..v2", join(directory, "..tmp"));
    await rename(join(directory, "..tmp"), join(directory, "..data"));
    await expect.poll(() => given).toEqual([first.roots, second]);
    stop();
  });

  it("has the valid roots, and needs at least one", async () => {
    const directory = await scratch();
    const { roots } = await pair();
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    await writeFile(join(directory, "r.pem"), broken + roots);
    expect(await readSecret({ kind: "roots", path: join(directory, "r.pem") })).toEqual({ kind: "roots", roots });
    await writeFile(join(directory, "r.pem"), broken);
    await expect(readSecret({ kind: "roots", path: join(directory, "r.pem") })).rejects.toThrow(
      "has no valid certificate",
    );
  });
});

describe("SDS", () => {
  async function serve(secrets: SecretSource) {
    const socket = join(await scratch(), "uds", "socket");
    const server: Http2Server = createServer(connectNodeAdapter({ routes: sdsRoutes(secrets) }));
    await listenOnSocket(server, socket);
    const sessions = new Set<{ destroy(): void }>();
    server.on("session", (session) => sessions.add(session));
    afterAll(() => {
      for (const session of sessions) session.destroy();
      server.close();
    });
    const transport = createGrpcTransport({
      baseUrl: "http://agent",
      nodeOptions: { createConnection: () => connect(socket) },
    });
    return { client: createClient(SecretDiscoveryService, transport), socket };
  }

  it("ends a stream whose deadline has passed with DEADLINE_EXCEEDED, and its watches", async () => {
    let watches = 0;
    const { client } = await serve({ watch: () => (watches++, () => watches--) } as unknown as SecretSource);
    async function* requests() {
      yield { resourceNames: ["default"] };
      await new Promise(() => undefined);
    }
    const stream = client.streamSecrets(requests(), { headers: { "grpc-timeout": "300m" } });
    const end = await (async () => {
      for await (const _ of stream);
    })().catch((error: unknown) => ConnectError.from(error).code);
    expect(end).toBe(Code.DeadlineExceeded);
    await expect.poll(() => watches).toBe(0);
  });

  /** Subscribes to secrets as Envoy does, and acknowledges each response. */
  async function subscribe(client: Awaited<ReturnType<typeof serve>>["client"], names: string[]) {
    const received: EnvoySecret[] = [];
    const abort = new AbortController();
    let acknowledge: (answer: { versionInfo: string; nonce: string }) => void = () => undefined;
    async function* requests() {
      yield {
        resourceNames: names,
        node: { id: "sidecar~1~a.b~c" },
        typeUrl: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
      };
      for (;;) {
        const { versionInfo, nonce } = await new Promise<{ versionInfo: string; nonce: string }>(
          (resolve) => (acknowledge = resolve),
        );
        yield { resourceNames: names, versionInfo, responseNonce: nonce };
      }
    }
    const done = (async () => {
      for await (const response of client.streamSecrets(requests(), { signal: abort.signal })) {
        for (const resource of response.resources) received.push(anyUnpack(resource, SecretSchema)!);
        acknowledge(response);
      }
    })();
    done.catch(() => undefined);
    return { received, done, leave: () => abort.abort() };
  }

  /** An agent's directory without files. */
  const files = async () => {
    const directory = await scratch();
    return { directory, files: new WorkloadFiles(directory) };
  };

  it("sends a secret once available, each change once, and roots only if they changed", async () => {
    const clock = new FakeClock();
    let release: (value: IssuedCertificate) => void = () => undefined;
    const certificate = new WorkloadCertificate({ clock, issue: () => new Promise((resolve) => (release = resolve)) });
    const secrets = workloadSecrets({ ...(await files()), certificate, quiet: 10, log: silentLog });
    certificate.start();
    const { client } = await serve(secrets);
    const own = await subscribe(client, ["default"]);
    const roots = await subscribe(client, ["ROOTCA"]);
    expect(own.received).toEqual([]);
    release({ key: "K1", chain: "C1", roots: "R1", notAfter: clock.now() + 10_000 });
    await expect.poll(() => own.received.length).toBe(1);
    await expect.poll(() => roots.received.length).toBe(1);
    clock.advance(10_000);
    release({ key: "K2", chain: "C2", roots: "R1", notAfter: clock.now() + 10_000 });
    await expect.poll(() => own.received.length).toBe(2);
    clock.advance(10_000);
    release({ key: "K3", chain: "C3", roots: "R2", notAfter: clock.now() + 10_000 });
    await expect.poll(() => own.received.length).toBe(3);
    await expect.poll(() => roots.received.length).toBe(2);
    const text = (source: { specifier: { value?: unknown } } | undefined): string =>
      Buffer.from(source?.specifier.value as Uint8Array).toString();
    expect(
      own.received.map(({ name, type }) => [
        name,
        type.case,
        type.case === "tlsCertificate" && text(type.value.privateKey),
      ]),
    ).toEqual([1, 2, 3].map((n) => ["default", "tlsCertificate", `K${n}`]));
    expect(roots.received.map(({ type }) => type.case === "validationContext" && text(type.value.trustedCa))).toEqual([
      "R1",
      "R2",
    ]);
    own.leave();
    roots.leave();
  });

  it("serves files by name, and the workload's secrets from a directory", async () => {
    const directory = await scratch();
    const { key, chain, roots } = await pair();
    for (const [name, text] of [
      ["key.pem", key],
      ["cert-chain.pem", chain],
      ["root-cert.pem", roots],
    ] as const)
      await put(join(directory, "etc/certs", name), text);
    const { client } = await serve(
      workloadSecrets({ directory, files: new WorkloadFiles(directory), quiet: 10, log: silentLog }),
    );
    for (const [name, kind] of [
      ["default", "tlsCertificate"],
      ["ROOTCA", "validationContext"],
      ["file-root:etc/certs/root-cert.pem", "validationContext"],
      [
        `file-cert:${join(directory, "etc/certs/cert-chain.pem")}~${join(directory, "etc/certs/key.pem")}`,
        "tlsCertificate",
      ],
    ] as const) {
      const { received, leave } = await subscribe(client, [name]);
      await expect.poll(() => received.map((secret) => [secret.name, secret.type.case])).toEqual([[name, kind]]);
      leave();
    }
  });

  it("answers at once for files that do not exist, with a secret that Envoy rejects, and serves them once they do", async () => {
    const directory = await scratch();
    const { key, chain } = await pair();
    const { client } = await serve(
      workloadSecrets({ directory, files: new WorkloadFiles(directory), quiet: 10, log: silentLog }),
    );
    const names = ["file-cert:c.pem~k.pem", "file-root:r.pem", "file-cert:a~b~k.pem"];
    const subscriptions = await Promise.all(names.map((name) => subscribe(client, [name])));
    const types = () => subscriptions.map(({ received }) => received.map(({ type }) => type));
    const required = { specifier: { case: undefined } };
    await expect
      .poll(types)
      .toMatchObject([
        [{ case: "tlsCertificate", value: { certificateChain: required, privateKey: required } }],
        [{ case: "validationContext", value: { trustedCa: required } }],
        [{ case: "tlsCertificate", value: { certificateChain: required, privateKey: required } }],
      ]);
    await put(join(directory, "k.pem"), key);
    await put(join(directory, "c.pem"), chain);
    await expect
      .poll(() => types()[0]?.at(-1)?.value)
      .toMatchObject({ certificateChain: { specifier: { case: "inlineBytes" } } });
    for (const { leave } of subscriptions) leave();
  });

  it("serves roots with revocation lists of a file, and not without the lists", async () => {
    const directory = await scratch();
    const root = await mint({ ca: true, subject: "CN=root" });
    const list = await mintRevocationList(root);
    await put(join(directory, "r.pem"), root.pem);
    const { client } = await serve(
      workloadSecrets({ directory, files: new WorkloadFiles(directory), quiet: 10, log: silentLog }),
    );
    const { received, leave } = await subscribe(client, ["file-root:r.pem~crl.pem"]);
    const contexts = () => received.map(({ type }) => (type.case === "validationContext" ? type.value : undefined));
    const lists = (): string => Buffer.from(contexts().at(-1)?.crl?.specifier.value ?? "").toString();
    const required = { trustedCa: { specifier: { case: undefined } } };
    await expect.poll(contexts).toMatchObject([required]);
    const written = async (text: string): Promise<number> => {
      const before = received.length;
      await put(join(directory, "crl.pem"), text);
      return before;
    };
    const before = await written(list);
    await expect.poll(() => received.length).toBe(before + 1);
    expect(lists()).toBe(list);
    // An invalid file keeps the last good lists; an empty one clears them.
    await written("garbage");
    const cleared = await written("");
    await expect.poll(() => received.length).toBe(cleared + 1);
    expect(contexts().at(-1)).toMatchObject({ trustedCa: { specifier: { case: "inlineBytes" } } });
    expect(contexts().at(-1)?.crl).toBeUndefined();
    expect(received.map(({ name }) => name)).toEqual(received.map(() => "file-root:r.pem~crl.pem"));
    leave();
  });

  it("rejects unknown secrets", async () => {
    const { client } = await serve(workloadSecrets({ ...(await files()), quiet: 10, log: silentLog }));
    await expect((await subscribe(client, ["kubernetes://x"])).done).rejects.toThrow('unknown secret "kubernetes://x"');
    await expect((await subscribe(client, ["default"])).done).rejects.toThrow("no workload certificate");
  });
});

import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import type { TLSSocket } from "node:tls";
import { join } from "node:path";
import { mint, type Minted, uri } from "@istiod/ca/testing";
import { FakeClock } from "@istiod/runtime/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { requestCertificate } from "../src/certificates/ca-client.js";
import { generateCsr } from "../src/certificates/csr.js";
import { outputCertificates, writeSecret } from "../src/certificates/output-certificates.js";
import type { Secret, SecretSource } from "../src/certificates/secret.js";
import { WorkloadFiles } from "../src/certificates/workload-files.js";
import { workloadSecrets } from "../src/certificates/workload-secrets.js";
import { caEndpoint, discoveryTls } from "../src/control-plane.js";
import { fileToken } from "../src/credentials/file-token.js";
import { readOptions, silentLog } from "../src/index.js";
import { defaultProxyConfig } from "../src/proxy-config/defaults.js";
import { overlay } from "../src/proxy-config/overlay.js";
import { FakeIstiod, put, scratch, TOKEN } from "./fakes.js";
import { startedAgent } from "./proxyless-agent.js";
import { recordingLog } from "./recording-log.js";

const CART = "spiffe://cluster.local/ns/shop/sa/cart";
const KEY = { eccAlgorithm: "ECDSA", eccCurve: "P256", rsaKeySize: 2048, pkcs8Key: false } as const;

let root: Minted;
beforeAll(async () => {
  root = await mint({ ca: true, subject: "CN=files" });
});

/** Writes a certificate with its key and roots to a directory. */
async function putCertificate(directory: string, leaf: Minted, roots: string): Promise<void> {
  await put(join(directory, "cert-chain.pem"), leaf.pem);
  await put(join(directory, "key.pem"), leaf.keyPem);
  await put(join(directory, "root-cert.pem"), roots);
}

const leafOf = (issuer: Minted, more: Partial<Parameters<typeof mint>[0]> = {}): Promise<Minted> =>
  mint({ issuer, names: [uri(CART)], ...more });

describe("roots and certificates for istiod", () => {
  const at = (directory: string, env: Record<string, string> = {}) =>
    readOptions({}, { AGENT_DIRECTORY: directory, ...env });

  it("of XDS_ROOT_CA and ./etc/certs precede those of PROV_CERT, which the authority uses", async () => {
    const directory = await scratch();
    const config = defaultProxyConfig();
    const certificate = {
      certificateFile: join(directory, "prov/cert-chain.pem"),
      keyFile: join(directory, "prov/key.pem"),
    };
    const provisioned = { rootFile: join(directory, "prov/root-cert.pem"), ...certificate };
    const options = at(directory, { PROV_CERT: "prov" });
    expect(discoveryTls(options, config)).toEqual(provisioned);
    await put(join(directory, "etc/certs/root-cert.pem"), "x");
    expect(discoveryTls(options, config)).toEqual({
      rootFile: join(directory, "etc/certs/root-cert.pem"),
      ...certificate,
    });
    expect(discoveryTls(at(directory, { PROV_CERT: "prov", XDS_ROOT_CA: "SYSTEM" }), config)).toEqual({
      rootFile: "SYSTEM",
      ...certificate,
    });
    expect(caEndpoint(options, config).tls).toEqual(provisioned);
    expect(caEndpoint(at(directory, { PROV_CERT: "prov", CA_ROOT_CA: "SYSTEM" }), config).tls).toEqual({
      ...provisioned,
      rootFile: "SYSTEM",
    });
  });

  it("of the proxy metadata authenticate with FILE_MOUNTED_CERTS, to istiod only", async () => {
    const directory = await scratch();
    const env = { FILE_MOUNTED_CERTS: "true" };
    const metadata = overlay(
      defaultProxyConfig(),
      JSON.stringify({
        proxyMetadata: {
          ISTIO_META_TLS_CLIENT_CERT_CHAIN: "m/chain.pem",
          ISTIO_META_TLS_CLIENT_KEY: "m/key.pem",
          ISTIO_META_TLS_CLIENT_ROOT_CERT: "m/root.pem",
        },
      }),
      "x",
    );
    expect(() => discoveryTls(at(directory, env), metadata)).toThrow(
      `root certificate for istiod not found: ${directory}/m/root.pem (ISTIO_META_TLS_CLIENT_ROOT_CERT of proxyMetadata)`,
    );
    expect(() => discoveryTls(at(directory, env), defaultProxyConfig())).toThrow(
      "root certificate for istiod not found: no path (ISTIO_META_TLS_CLIENT_ROOT_CERT of proxyMetadata)",
    );
    await put(join(directory, "m/root.pem"), "x");
    expect(discoveryTls(at(directory, env), metadata)).toEqual({
      rootFile: join(directory, "m/root.pem"),
      certificateFile: join(directory, "m/chain.pem"),
      keyFile: join(directory, "m/key.pem"),
    });
    await put(join(directory, "var/run/secrets/istio/root-cert.pem"), "x");
    expect(caEndpoint(at(directory, env), metadata).tls).toEqual({
      rootFile: join(directory, "var/run/secrets/istio/root-cert.pem"),
    });
  });

  it("depend on PILOT_CERT_PROVIDER", async () => {
    const directory = await scratch();
    const config = defaultProxyConfig();
    const istiodRoot = join(directory, "var/run/secrets/istio/root-cert.pem");
    const mounted = join(directory, "etc/certs/root-cert.pem");
    const of = (provider: string) => at(directory, { PILOT_CERT_PROVIDER: provider });
    await put(istiodRoot, "x");
    expect(() => caEndpoint(of("custom"), config)).toThrow(`${mounted} (PILOT_CERT_PROVIDER=custom)`);
    expect(() => caEndpoint(of("none"), config)).toThrow(
      "PILOT_CERT_PROVIDER=none needs a root certificate for istiod: set CA_ROOT_CA",
    );
    expect(() => discoveryTls(of("none"), config)).toThrow("set XDS_ROOT_CA");
    await put(mounted, "x");
    expect(caEndpoint(of("custom"), config).tls).toEqual({ rootFile: mounted });
    expect(caEndpoint(of("k8s.io/issuer"), config).tls).toEqual({ rootFile: istiodRoot });
    expect(caEndpoint(of(""), config).tls).toEqual({ rootFile: istiodRoot });
    expect(() => of("acme")).toThrow(
      'invalid value "acme" for PILOT_CERT_PROVIDER: expected one of istiod, custom, none, k8s.io/<signer>',
    );
  });
});

describe("a certificate in PROV_CERT", () => {
  /** Requests a certificate without a token. Resolves to the identity in the client certificate that istiod saw. */
  async function requestWith(prepare: (directory: string, istiod: FakeIstiod) => Promise<void>, token?: string) {
    const istiod = await FakeIstiod.start();
    const directory = await scratch();
    await put(join(directory, "root.pem"), istiod.root);
    if (token !== undefined) await put(join(directory, "token"), token);
    await prepare(directory, istiod);
    const { log, messages } = recordingLog();
    const clients: string[] = [];
    istiod.onSession = (session) =>
      clients.push((session.socket as TLSSocket).getPeerCertificate().subjectaltname ?? "");
    const request = () =>
      requestCertificate({
        address: `127.0.0.1:${istiod.port}`,
        tls: {
          rootFile: join(directory, "root.pem"),
          certificateFile: join(directory, "cert-chain.pem"),
          keyFile: join(directory, "key.pem"),
        },
        token: fileToken(join(directory, "token")),
        identity: CART,
        key: KEY,
        lifetime: 3600_000,
        clusterId: "Kubernetes",
        log,
      });
    return { request, directory, istiod, clients, messages };
  }
  /** Writes a certificate that istiod's own authority issued. */
  const issue = async (directory: string, istiod: FakeIstiod, lifetime = 3600_000): Promise<void> => {
    const { key, csr } = await generateCsr(CART, KEY);
    const { certificate } = await istiod.authority.sign({ request: csr, names: [CART], lifetime });
    await put(join(directory, "key.pem"), key);
    await put(join(directory, "cert-chain.pem"), certificate);
  };

  it("authenticates without a token, and is reread for each request", async () => {
    const { request, directory, istiod, clients, messages } = await requestWith(issue);
    const first = await request();
    await writeSecret({ kind: "certificate", chain: first.chain, key: first.key }, { directory, isShared: false });
    await request();
    expect(clients).toEqual([`URI:${CART}`, `URI:${CART}`]);
    expect(istiod.headers.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
    expect(messages()).toEqual([]);
  });

  it("is sent with the token, if there is one", async () => {
    const { request, istiod, clients } = await requestWith(issue, TOKEN);
    await request();
    expect(clients).toEqual([`URI:${CART}`]);
    expect(istiod.headers[0]?.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it.each([
    [
      "is missing",
      async () => undefined,
      /^cannot read the certificate .*cert-chain\.pem, using token instead: ENOENT/,
    ],
    [
      "is malformed",
      async (directory: string) => put(join(directory, "cert-chain.pem"), "nonsense"),
      /^cannot read the certificate .*cert-chain\.pem, using token instead: /,
    ],
    [
      "has expired",
      async (directory: string) => {
        const issuer = await mint({ ca: true });
        await putCertificate(directory, await leafOf(issuer, { notAfter: -1000 }), issuer.pem);
      },
      /cert-chain\.pem expired at .*, using token instead$/,
    ],
  ])("that %s is replaced by the token", async (_, prepare, warning) => {
    const { request, clients, messages } = await requestWith(prepare, TOKEN);
    await request();
    expect(clients).toEqual([""]);
    expect(messages()).toEqual([expect.stringMatching(warning)]);
  });
});

describe("the workload's certificate files", () => {
  /** Returns the secret of a name that is served; the reason if none is. */
  const served = (secrets: SecretSource, name: string): Promise<Secret | string> =>
    new Promise((resolve) => {
      try {
        const stop: { current?: () => void } = {};
        stop.current = secrets.watch(name, (secret) => {
          queueMicrotask(() => stop.current?.());
          resolve(secret);
        });
      } catch (error) {
        resolve((error as Error).message);
      }
    });
  const filesOnly = (directory: string, output = ""): SecretSource =>
    workloadSecrets({ directory, files: new WorkloadFiles(directory, output), quiet: 10, log: silentLog });

  it("of ./etc/certs replace each what the authority issues, those of workload-spiffe-credentials only together", async () => {
    const directory = await scratch();
    const leaf = await leafOf(root);
    expect(await served(filesOnly(directory), "ROOTCA")).toBe(
      "no workload root certificate in ./var/run/secrets/workload-spiffe-credentials or ./etc/certs, and no certificate authority is configured",
    );
    await put(join(directory, "etc/certs/root-cert.pem"), root.pem);
    expect(await served(filesOnly(directory), "ROOTCA")).toEqual({ kind: "roots", roots: root.pem });
    expect(await served(filesOnly(directory), "default")).toMatch(/^no workload certificate in /);
    await put(join(directory, "etc/certs/cert-chain.pem"), leaf.pem);
    await put(join(directory, "etc/certs/key.pem"), "");
    expect(await served(filesOnly(directory), "default")).toMatch(/^no workload certificate in /);
    await put(join(directory, "etc/certs/key.pem"), leaf.keyPem);
    const mounted = { kind: "certificate", chain: leaf.pem, key: leaf.keyPem };
    expect(await served(filesOnly(directory), "default")).toEqual(mounted);

    const credentials = join(directory, "var/run/secrets/workload-spiffe-credentials");
    const other = await leafOf(root);
    await put(join(credentials, "cert-chain.pem"), other.pem);
    await put(join(credentials, "key.pem"), other.keyPem);
    expect(await served(filesOnly(directory), "default")).toEqual(mounted);
    await put(join(credentials, "root-cert.pem"), root.pem);
    expect(await served(filesOnly(directory), "default")).toEqual({
      kind: "certificate",
      chain: other.pem,
      key: other.keyPem,
    });
  });

  it("in OUTPUT_CERTS are not a source, by whatever path", async () => {
    const directory = await scratch();
    await putCertificate(join(directory, "etc/certs"), await leafOf(root), root.pem);
    for (const output of ["etc/certs", "./etc/certs/", join(directory, "etc/certs")])
      expect(await served(filesOnly(directory, output), "default")).toMatch(/^no workload certificate in /);
    expect(await served(filesOnly(directory, "etc/other"), "default")).toMatchObject({ kind: "certificate" });
  });

  it("need no authority if they are complete", async () => {
    const istiod = await FakeIstiod.start();
    const directory = await scratch();
    await putCertificate(join(directory, "etc/certs"), await leafOf(root), root.pem);
    const { metric } = await startedAgent(istiod, {
      directory,
      env: { OUTPUT_CERTS: "out", XDS_ROOT_CA: "var/run/secrets/istio/root-cert.pem" },
    });
    await expect.poll(() => readFile(join(directory, "out/root-cert.pem"), "utf8").catch(() => "")).toBe(root.pem);
    expect(await metric('num_outgoing_requests{request_type="CSR"}')).toBeUndefined();
    expect(await metric("num_file_secret_failures_total")).toBe(0);
    await put(join(directory, "etc/certs/key.pem"), "half");
    await expect.poll(() => metric("num_file_secret_failures_total")).toBe(1);
  });
});

describe("OUTPUT_CERTS", () => {
  it("has the certificate and the roots, each written atomically and again only if it changed", async () => {
    const directory = join(await scratch(), "out", "certs");
    const listeners = new Map<string, (secret: Secret) => void>();
    const stop = outputCertificates(
      { watch: (name, listener) => (listeners.set(name, listener), () => listeners.delete(name)) },
      { directory, isShared: false, log: silentLog },
    );
    listeners.get("default")!({ kind: "certificate", chain: "C", key: "K" });
    listeners.get("ROOTCA")!({ kind: "roots", roots: "R" });
    const content = (name: string) => readFile(join(directory, name), "utf8").catch(() => undefined);
    await expect.poll(() => content("root-cert.pem")).toBe("R");
    expect([await content("key.pem"), await content("cert-chain.pem")]).toEqual(["K", "C"]);
    const { ino } = await stat(join(directory, "cert-chain.pem"));
    listeners.get("default")!({ kind: "certificate", chain: "C", key: "K2" });
    listeners.get("ROOTCA")!({ kind: "roots", roots: "R2" });
    await expect.poll(() => content("root-cert.pem")).toBe("R2");
    expect(await content("key.pem")).toBe("K2");
    expect((await stat(join(directory, "cert-chain.pem"))).ino).toBe(ino);
    expect((await readdir(directory)).sort()).toEqual(["cert-chain.pem", "key.pem", "root-cert.pem"]);
    expect((await stat(join(directory, "key.pem"))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    await stop();
    expect([...listeners.keys()]).toEqual([]);
  });

  it("has no file that is half written once it is stopped", async () => {
    const directory = await scratch();
    const listeners = new Map<string, (secret: Secret) => void>();
    const stop = outputCertificates(
      { watch: (name, listener) => (listeners.set(name, listener), () => undefined) },
      { directory, isShared: false, log: silentLog },
    );
    listeners.get("default")!({ kind: "certificate", chain: "C", key: "K" });
    listeners.get("ROOTCA")!({ kind: "roots", roots: "R" });
    await stop();
    expect((await readdir(directory)).sort()).toEqual(["cert-chain.pem", "key.pem", "root-cert.pem"]);
  });

  it("is readable by other containers of a pod", async () => {
    const directory = await scratch();
    await writeSecret({ kind: "roots", roots: "R" }, { directory, isShared: true });
    expect((await stat(join(directory, "root-cert.pem"))).mode & 0o777).toBe(0o644);
  });

  it("that is PROV_CERT has the certificate of a virtual machine, which is renewed with itself", async () => {
    const istiod = await FakeIstiod.start();
    const directory = await scratch();
    const certs = join(directory, "etc/certs");
    await mkdir(certs, { recursive: true });
    await put(join(certs, "root-cert.pem"), istiod.root);
    const clock = new FakeClock(Date.now());
    const { messages } = await startedAgent(istiod, {
      directory,
      clock,
      env: { PROV_CERT: "./etc/certs", OUTPUT_CERTS: "etc/certs" },
    });
    const chain = (): Promise<string> => readFile(join(certs, "cert-chain.pem"), "utf8").catch(() => "");
    await expect.poll(chain).toContain("BEGIN CERTIFICATE");
    expect(messages()).toContainEqual(expect.stringMatching(/^cannot read the certificate .*, using token instead/));
    const first = await chain();
    const clients: string[] = [];
    istiod.onSession = (session) =>
      clients.push((session.socket as TLSSocket).getPeerCertificate().subjectaltname ?? "");
    await put(join(directory, "var/run/secrets/tokens/istio-token"), "");
    clock.advance(12.5 * 3600_000);
    await expect.poll(chain).not.toBe(first);
    expect(clients).toEqual([`URI:${CART}`]);
  });
});

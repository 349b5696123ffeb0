import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { mint, type Minted, mintRevocationList, uri } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { proxyConfigType } from "@istiod/resources";
import type { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, it } from "vitest";
import { client, decoded, folder, serve } from "./serving.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const proxy = create(NodeSchema, { id: "sidecar~10.0.0.9~p.shop~shop.svc.cluster.local" });

interface CaFiles {
  readonly signer: Minted;
  readonly roots: readonly Minted[];
  readonly lists?: string;
}

async function write(directory: string, { signer, roots, lists }: CaFiles): Promise<void> {
  await rm(join(directory, "ca-crl.pem"), { force: true });
  for (const [name, text] of [
    ["ca-cert.pem", signer.pem],
    ["ca-key.pem", signer.keyPem],
    ["cert-chain.pem", signer.pem],
    ["root-cert.pem", roots.map(({ pem }) => pem).join("")],
    ...(lists === undefined ? [] : ([["ca-crl.pem", lists]] as const)),
  ] as const)
    await writeFile(join(directory, name), text);
}

async function start(files: CaFiles, env: NodeJS.ProcessEnv, mesh = "{}") {
  const root = await folder({ "config/empty.yaml": "", "cacerts/empty": "", "mesh.yaml": mesh });
  const cacerts = join(root, "cacerts");
  await write(cacerts, files);
  const istiod = await serve(
    { configDir: join(root, "config"), meshConfig: join(root, "mesh.yaml"), secureGRPCAddr: "127.0.0.1:0" },
    { ROOT_CA_DIR: cacerts, ...env },
  );
  return { istiod, cacerts, port: istiod.addresses["secureGRPCAddr"]?.port ?? 0 };
}

/** The issuer of istiod's certificate, verified against these roots; or the code of the error. */
async function handshake(port: number, roots: readonly string[]): Promise<string> {
  const socket = connect({
    host: "127.0.0.1",
    port,
    ca: [...roots],
    servername: "istiod.istio-system.svc",
    ALPNProtocols: ["h2"],
  });
  try {
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return socket.getPeerX509Certificate()?.issuer ?? "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "error";
  } finally {
    socket.destroy();
  }
}

describe("a plugged-in CA that is replaced while istiod runs", () => {
  it("moves to another root in three steps without a failed handshake of a client that follows the roots", async () => {
    const [a, b] = [await mint({ ca: true, subject: "CN=a" }), await mint({ ca: true, subject: "CN=b" })];
    const { istiod, cacerts, port } = await start({ signer: a, roots: [a] }, { ISTIO_MULTIROOT_MESH: "true" });
    const stream: XdsClient = client(istiod, "delta", proxy);
    stream.subscribe(proxyConfigType);
    let trusted: readonly string[] = [];
    const next = async (...roots: readonly Minted[]): Promise<void> => {
      const [config] = decoded(ProxyConfigSchema, await stream.accept(proxyConfigType));
      trusted = config?.caCertificatesPem ?? [];
      expect(trusted.map((pem) => pem.trim()).sort()).toEqual(roots.map(({ pem }) => pem.trim()).sort());
    };
    await next(a);

    const seen = new Map<string, number>();
    let isOver = false;
    const clients = (async () => {
      while (!isOver) {
        const issuer = await handshake(port, trusted);
        seen.set(issuer, (seen.get(issuer) ?? 0) + 1);
      }
    })();
    ends.push(() => (isOver = true));
    const served = (issuer: string) =>
      expect.poll(() => seen.get(issuer) ?? 0, { timeout: 30_000 }).toBeGreaterThan(20);
    await served("CN=a");
    await write(cacerts, { signer: a, roots: [a, b] });
    await next(a, b);
    await write(cacerts, { signer: b, roots: [a, b] });
    await served("CN=b");
    await write(cacerts, { signer: b, roots: [b] });
    await next(b);
    const before = seen.get("CN=b") ?? 0;
    await expect.poll(() => seen.get("CN=b") ?? 0, { timeout: 30_000 }).toBeGreaterThan(before + 20);
    isOver = true;
    await clients;
    expect([...seen.keys()].sort()).toEqual(["CN=a", "CN=b"]);
  });

  it("keeps its roots without ISTIO_MULTIROOT_MESH, and agents are sent none", async () => {
    const [a, b] = [await mint({ ca: true, subject: "CN=a" }), await mint({ ca: true, subject: "CN=b" })];
    const { istiod, cacerts, port } = await start({ signer: a, roots: [a] }, {});
    await write(cacerts, { signer: b, roots: [b] });
    const reason = `${cacerts}: the roots changed; the roots must stay the same unless several are allowed (ISTIO_MULTIROOT_MESH)`;
    await expect
      .poll(() => JSON.stringify(istiod.lines), { timeout: 30_000 })
      .toContain(JSON.stringify(reason).slice(1, -1));
    expect(await handshake(port, [a.pem])).toBe("CN=a");
    const stream = client(istiod, "delta", proxy);
    stream.subscribe(proxyConfigType);
    expect(decoded(ProxyConfigSchema, await stream.accept(proxyConfigType))).toEqual([]);
  });

  it("sends agents the roots in caCertificates of the mesh configuration, but no other text there", async () => {
    const [a, b] = [await mint({ ca: true, subject: "CN=a" }), await mint({ ca: true, subject: "CN=b" })];
    const leaf = await mint({ issuer: a, subject: "CN=leaf" });
    const mesh = JSON.stringify({ caCertificates: [{ pem: b.pem }, { pem: leaf.pem }] });
    const { istiod } = await start({ signer: a, roots: [a] }, { ISTIO_MULTIROOT_MESH: "true" }, mesh);
    const stream = client(istiod, "delta", proxy);
    stream.subscribe(proxyConfigType);
    const [config] = decoded(ProxyConfigSchema, await stream.accept(proxyConfigType));
    expect(config?.caCertificatesPem.map((pem) => pem.trim())).toEqual([a.pem.trim(), b.pem.trim()].sort());
    expect(istiod.lines.map(({ msg }) => msg)).toContain(
      "mesh configuration: caCertificates[1].pem is not a CA certificate, agents do not receive it",
    );
  });
});

describe("revocation lists of a plugged-in CA", () => {
  it("reject revoked clients as soon as the file changes, and no others", async () => {
    const ca = await mint({ ca: true, subject: "CN=ca" });
    const leaf = () => mint({ issuer: ca, names: [uri("spiffe://cluster.local/ns/shop/sa/web")] });
    const [honest, stolen] = [await leaf(), await leaf()];
    const files = { signer: ca, roots: [ca] };
    const { cacerts, port } = await start({ ...files, lists: await mintRevocationList(ca) }, {});
    const status = async ({ pem, keyPem }: Minted): Promise<Code> => {
      const nodeOptions = { rejectUnauthorized: false, cert: pem, key: keyPem };
      const baseUrl = `https://127.0.0.1:${port}`;
      const authority = createClient(IstioCertificateService, createGrpcTransport({ baseUrl, nodeOptions }));
      return authority.createCertificate({ csr: "none" }).then(
        () => Code.Unknown,
        (error: unknown) => ConnectError.from(error).code,
      );
    };
    // The request itself is malformed.
    expect(await status(stolen)).toBe(Code.InvalidArgument);
    await write(cacerts, {
      ...files,
      lists: await mintRevocationList(ca, { revoked: [stolen.certificate.serialNumber] }),
    });
    await expect.poll(() => status(stolen), { timeout: 30_000 }).toBe(Code.Unauthenticated);
    expect(await status(honest)).toBe(Code.InvalidArgument);
  });

  it("do not delay a new signing certificate, are reported while they are invalid, and are cleared", async () => {
    const root = await mint({ ca: true, subject: "CN=root" });
    const [one, two] = [
      await mint({ ca: true, subject: "CN=one", issuer: root }),
      await mint({ ca: true, subject: "CN=two", issuer: root }),
    ];
    const lists = (await mintRevocationList(root)) + (await mintRevocationList(one, { revoked: ["1234"] }));
    const { istiod, cacerts, port } = await start({ signer: one, roots: [root], lists }, {});
    const state = async () => {
      const get = async (path: string): Promise<string> => (await fetch(`${istiod.http}${path}`)).text();
      const metrics = await get("/metrics");
      return {
        ready: (await get("/ready?verbose")).match(/^.*Revocation lists.*$/gm),
        valid: /^istiod_revocation_lists_valid (\d)$/m.exec(metrics)?.[1],
        hasExpiry: metrics.includes("\nistiod_revocation_lists_expiry_timestamp "),
        issuer: await handshake(port, [root.pem]),
      };
    };
    const file = join(cacerts, "ca-crl.pem");
    const until = { timeout: 20_000 };
    const good = { ready: [`[+]Revocation lists (${file}): current`], valid: "1", hasExpiry: true };
    await expect.poll(state, until).toEqual({ ...good, issuer: "CN=one" });
    await write(cacerts, { signer: two, roots: [root], lists: await mintRevocationList(root) });
    const reason = `${cacerts}: ca-crl.pem: certificate CN=two has no revocation list; keeping the last good revocation lists`;
    await expect.poll(state, until).toEqual({
      ready: [`[-]Revocation lists (${file}): stale, ${reason}`],
      valid: "0",
      hasExpiry: true,
      issuer: "CN=two",
    });
    expect(await (await fetch(`${istiod.http}/ready`)).text()).toContain(reason);
    expect(
      istiod.lines
        .filter(({ level }) => level === "error")
        .map((line) => JSON.stringify(line))
        .join(),
    ).toContain("CN=two has no revocation list");
    await writeFile(file, "");
    await expect.poll(state, until).toEqual({ ready: null, valid: undefined, hasExpiry: false, issuer: "CN=two" });
    await writeFile(file, (await mintRevocationList(root)) + (await mintRevocationList(two)));
    await expect.poll(state, until).toEqual({ ...good, issuer: "CN=two" });
    await rm(file);
    await expect.poll(state, until).toEqual({ ready: null, valid: undefined, hasExpiry: false, issuer: "CN=two" });
  });

  it("that are invalid when istiod starts do not keep it from issuing certificates", async () => {
    const ca = await mint({ ca: true, subject: "CN=ca" });
    const { istiod, port } = await start({ signer: ca, roots: [ca], lists: "garbage" }, {});
    expect(await handshake(port, [ca.pem])).toBe("CN=ca");
    expect(await (await fetch(`${istiod.http}/ready`)).text()).toContain("there are no last good revocation lists");
  });
});

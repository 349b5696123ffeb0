import { X509Certificate } from "node:crypto";
import { type Http2ServerRequest, type Http2ServerResponse, createServer } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { CertificateAuthority, signingBundle } from "@istiod/ca";
import { mint } from "@istiod/ca/testing";
import { IstioCertificateRequestSchema, IstioCertificateResponseSchema } from "@istiod/istio-api/security/v1alpha1/ca";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import { afterAll, describe, expect, it } from "vitest";
import { fileToken } from "../src/credentials/file-token.js";
import { type CaClientOptions, requestCertificate } from "../src/certificates/ca-client.js";
import { generateCsr } from "../src/certificates/csr.js";
import { MAX_CHAIN, MAX_ROOTS } from "../src/certificates/issued-chain.js";
import type { IssuedCertificate } from "../src/certificates/workload-certificate.js";
import { put, scratch, TOKEN } from "./fakes.js";
import { settled, silentServer } from "./hostile-peers.js";

const CART = "spiffe://cluster.local/ns/shop/sa/cart";
const key = { eccAlgorithm: "ECDSA", eccCurve: "P256", rsaKeySize: 2048, pkcs8Key: false } as const;

async function optionsFor(port: number, more: Partial<CaClientOptions> = {}): Promise<CaClientOptions> {
  const directory = await scratch();
  await put(join(directory, "root.pem"), "");
  await put(join(directory, "token"), TOKEN);
  return {
    address: `127.0.0.1:${port}`,
    token: fileToken(join(directory, "token")),
    identity: CART,
    key,
    lifetime: 3600_000,
    clusterId: "Kubernetes",
    ...more,
  };
}

/** Starts a gRPC server in plaintext and requests a certificate from it. */
async function request(
  serve: (csr: string, response: Http2ServerResponse) => void,
  more: Partial<CaClientOptions> = {},
): Promise<IssuedCertificate> {
  const server = createServer((incoming: Http2ServerRequest, response) => {
    const reader = new FrameReader();
    response.stream.on("error", () => undefined);
    incoming.on("data", (bytes: Buffer) => {
      for (const { message } of reader.push(bytes))
        serve(fromBinary(IstioCertificateRequestSchema, message).csr, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => server.close());
  return requestCertificate(await optionsFor((server.address() as AddressInfo).port, more));
}

/** Responds as an authority does, with any chain. */
async function requestChain(
  chainFor: (csr: string) => Promise<string[]>,
  more: Partial<CaClientOptions> = {},
): Promise<IssuedCertificate> {
  return request((csr, response) => {
    void chainFor(csr).then((certChain) => {
      response.writeHead(200, { "content-type": "application/grpc" });
      response.addTrailers({ "grpc-status": "0" });
      const message = create(IstioCertificateResponseSchema, { certChain });
      response.end(encodeFrame(toBinary(IstioCertificateResponseSchema, message)));
    });
  }, more);
}

interface Chain {
  readonly leaf: string;
  readonly intermediate: string;
  readonly root: string;
}

/** Signs a CSR by an intermediate of a new root. */
async function sign(csr: string, name = CART): Promise<Chain> {
  const root = await mint({ ca: true });
  const intermediate = await mint({ ca: true, issuer: root });
  const pem = { certificate: intermediate.pem, privateKey: intermediate.keyPem, roots: root.pem };
  const authority = new CertificateAuthority({ bundle: signingBundle(pem, "test", Date.now()) });
  const { certificate } = await authority.sign({ request: csr, names: [name] });
  return { leaf: certificate, intermediate: intermediate.pem, root: root.pem };
}

describe("the CA client", () => {
  it.each<[string, (chain: Chain) => string[]]>([
    ["one certificate per element", ({ leaf, intermediate, root }) => [leaf, intermediate, root]],
    ["all in one element, the root too", ({ leaf, intermediate, root }) => [`${leaf}${intermediate}${root}`, root]],
    ["others between, and several roots", ({ leaf, intermediate, root }) => [leaf, leaf, intermediate, root + root]],
  ])("accepts a chain that leads to a root: %s", async (_, order) => {
    const issued = await requestChain(async (csr) => order(await sign(csr)));
    expect(issued.chain).toContain("BEGIN CERTIFICATE");
    expect(issued.notAfter).toBeGreaterThan(Date.now());
  });

  it("accepts an identity of the trust domain of the credentials", async () => {
    const other = "spiffe://prod.example/ns/shop/sa/cart";
    const issued = await requestChain(async (csr) => {
      const { leaf, intermediate, root } = await sign(csr, other);
      return [leaf, intermediate, root];
    });
    expect(new X509Certificate(issued.chain).subjectAltName).toBe(`URI:${other}`);
  });

  it("accepts any service account if SERVICE_ACCOUNT is not set, but no other namespace", async () => {
    const identity = "spiffe://cluster.local/ns/shop/sa/";
    const signedFor = (name: string) =>
      requestChain(
        async (csr) => {
          const { leaf, intermediate, root } = await sign(csr, name);
          return [leaf, intermediate, root];
        },
        { identity },
      );
    expect(new X509Certificate((await signedFor(CART)).chain).subjectAltName).toBe(`URI:${CART}`);
    await expect(signedFor("spiffe://cluster.local/ns/prod/sa/cart")).rejects.toThrow(/it is for "spiffe:.*prod/);
  });

  const otherCsr = generateCsr(CART, key).then(({ csr }) => csr);
  it.each<[string, (csr: string) => Promise<string[]>, RegExp]>([
    ["is empty", async () => [], /the response has no certificate chain$/],
    ["has no root", async (csr) => [(await sign(csr)).leaf], /the response has no certificate chain$/],
    [
      "is for another key",
      async () => {
        const { leaf, intermediate, root } = await sign(await otherCsr);
        return [leaf, intermediate, root];
      },
      /it does not match the private key$/,
    ],
    [
      "is for another service account",
      async (csr) => {
        const { leaf, intermediate, root } = await sign(csr, "spiffe://cluster.local/ns/shop/sa/admin");
        return [leaf, intermediate, root];
      },
      /it is for "spiffe:\/\/cluster\.local\/ns\/shop\/sa\/admin", expected spiffe:\/\/cluster\.local\/ns\/shop\/sa\/cart$/,
    ],
    [
      "has no identity",
      async (csr) => {
        const { leaf, intermediate, root } = await sign(csr, "cart.shop.svc");
        return [leaf, intermediate, root];
      },
      /it is for no identity, expected spiffe:/,
    ],
    [
      "leads to another root",
      async (csr) => {
        const [{ leaf, intermediate }, { root }] = await Promise.all([sign(csr), sign(csr)]);
        return [leaf, intermediate, root];
      },
      /its chain does not lead to a root certificate of the response$/,
    ],
    [
      "lacks its intermediate",
      async (csr) => {
        const { leaf, root } = await sign(csr);
        return [leaf, root];
      },
      /its chain does not lead to a root/,
    ],
    [
      "leads to a root through a certificate that may not sign",
      async (csr) => {
        const root = await mint({ ca: true });
        const { leaf, intermediate } = await sign(csr);
        const { subject } = new X509Certificate(intermediate);
        const impostor = await mint({ issuer: root, subject: subject.replaceAll("\n", ", ") });
        return [leaf, impostor.pem, root.pem];
      },
      /its chain does not lead to a root/,
    ],
    ["is not PEM", async () => ["certificate", "root"], /the chain has no certificate$/],
    [
      "has a malformed root",
      async (csr) => {
        const { leaf, intermediate } = await sign(csr);
        return [leaf, intermediate, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"];
      },
      /invalid certificate: /,
    ],
    [
      "is too long",
      async (csr) => {
        const { leaf, intermediate, root } = await sign(csr);
        return [leaf, ...Array<string>(MAX_CHAIN).fill(intermediate), root];
      },
      /the chain has 33 certificates, at most 32 are accepted$/,
    ],
    [
      "has too many roots",
      async (csr) => {
        const { leaf, intermediate, root } = await sign(csr);
        return [leaf, intermediate, root.repeat(MAX_ROOTS + 1)];
      },
      /the list of roots has 513 certificates, at most 512 are accepted$/,
    ],
  ])("rejects a chain that %s, in one sentence", async (_, chainFor, words) => {
    const failure = await requestChain(chainFor).then(
      () => expect.fail("it was accepted"),
      (error: unknown) => error as Error,
    );
    expect(failure).toMatchObject({ name: "AgentError", code: "authority" });
    expect(failure.message).toMatch(words);
    expect(failure.message).not.toContain("\n");
  });
});

describe("a response of the authority", () => {
  const headers = { "content-type": "application/grpc" };
  const half = 600_000;

  it("is read up to 4 MiB", async () => {
    let written = 0;
    const failure = request((_, response) => {
      response.writeHead(200, headers);
      response.write(encodeFrame(Buffer.alloc(0), 1 << 30));
      const send = (): void => {
        if (written >= 64 * 2 ** 20 || response.stream.destroyed) return;
        response.write(Buffer.alloc(65_536), () => ((written += 65_536), send()));
      };
      send();
    });
    await expect(failure).rejects.toThrow(/certificate authority 127\.0\.0\.1:\d+: .*4194304/);
    expect(await settled(() => written)).toBeLessThan(32 * 2 ** 20);
  });

  it("is read up to 4 MiB after decompression", async () => {
    const message = create(IstioCertificateResponseSchema, { certChain: ["x".repeat(64 * 2 ** 20)] });
    const compressed = gzipSync(toBinary(IstioCertificateResponseSchema, message));
    expect(compressed.length).toBeLessThan(half);
    const failure = request((_, response) => {
      response.writeHead(200, { ...headers, "grpc-encoding": "gzip" });
      response.addTrailers({ "grpc-status": "0" });
      const frame = encodeFrame(compressed);
      frame.writeUInt8(1, 0);
      response.end(frame);
    });
    await expect(failure).rejects.toThrow(/4194304/);
  });

  it("ends after the timeout if it trickles", async () => {
    let timer: NodeJS.Timeout | undefined;
    afterAll(() => clearInterval(timer));
    const failure = request(
      (_, response) => {
        response.writeHead(200, headers);
        response.write(encodeFrame(Buffer.alloc(0), 1000));
        timer = setInterval(() => response.stream.destroyed || response.write(Buffer.of(0)), 20);
      },
      { timeout: 300 },
    );
    await expect(failure).rejects.toThrow(/certificate authority 127\.0\.0\.1:\d+: .*timed out/);
  });

  it("ends after the timeout if the connection is accepted and nothing is sent", async () => {
    const sockets: Socket[] = [];
    const port = await silentServer((socket) => sockets.push(socket.resume()));
    for (const tls of [undefined, { rootFile: "SYSTEM" }]) {
      const failure = requestCertificate(await optionsFor(port, { timeout: 300, ...(tls && { tls }) }));
      await expect(failure).rejects.toThrow(/timed out/);
    }
    await expect.poll(() => sockets.every(({ destroyed, readableEnded }) => destroyed || readableEnded)).toBe(true);
  });
});

import { X509Certificate } from "node:crypto";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { clusterType, serve, staticSource, type TlsOptions } from "@istiod/xds-server";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hasOpenssl, NO_OPENSSL, selfSigned } from "./self-signed.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

describe("TLS", () => {
  let ecdsa: { cert: string; key: string };
  let rsa: { cert: string; key: string };
  beforeEach(({ skip }) => {
    skip(!hasOpenssl, NO_OPENSSL);
  });
  beforeAll(() => {
    if (!hasOpenssl) return;
    ecdsa = selfSigned();
    rsa = selfSigned(["-newkey", "rsa:2048"]);
  });

  async function listen(tls: Partial<TlsOptions> = {}): Promise<number> {
    const server = await serve(staticSource({ [clusterType]: [] }), {
      port: 0,
      tls: { ...ecdsa, fallback: rsa, ...tls },
    });
    ends.push(() => server.close());
    return server.port;
  }

  async function open(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({ port, host: "127.0.0.1", ALPNProtocols: ["h2"], rejectUnauthorized: false, ...options });
    ends.push(() => socket.destroy());
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return socket;
  }

  const keyType = (socket: TLSSocket): string | undefined =>
    new X509Certificate(socket.getPeerCertificate().raw).publicKey.asymmetricKeyType;

  it("encrypts with AES-128-GCM, except for clients that prefer ChaCha20", async () => {
    const port = await listen();
    const cipherOf = async (ciphers?: string): Promise<string> =>
      (await open(port, ciphers === undefined ? {} : { ciphers })).getCipher().standardName;
    expect(await cipherOf()).toBe("TLS_AES_128_GCM_SHA256");
    expect(await cipherOf("TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256")).toBe("TLS_AES_128_GCM_SHA256");
    expect(await cipherOf("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256")).toBe("TLS_CHACHA20_POLY1305_SHA256");
    expect(await cipherOf("TLS_AES_256_GCM_SHA384")).toBe("TLS_AES_256_GCM_SHA384");
  });

  it("keeps to the ciphers and versions that are given", async () => {
    const port = await listen({ ciphers: "TLS_AES_256_GCM_SHA384", minVersion: "TLSv1.3" });
    expect((await open(port)).getCipher().standardName).toBe("TLS_AES_256_GCM_SHA384");
    await expect(open(port, { maxVersion: "TLSv1.2" })).rejects.toThrow(/alert protocol version/);
  });

  it("serves the fallback to clients that accept no ECDSA, in both versions", async () => {
    const port = await listen();
    expect(keyType(await open(port))).toBe("ec");
    expect(keyType(await open(port, { maxVersion: "TLSv1.2" }))).toBe("ec");
    expect(keyType(await open(port, { sigalgs: "RSA-PSS+SHA256" }))).toBe("rsa");
    expect(keyType(await open(port, { maxVersion: "TLSv1.2", ciphers: "ECDHE-RSA-AES128-GCM-SHA256" }))).toBe("rsa");
  });

  it.each(["TLSv1.2", "TLSv1.3"] as const)(
    "resumes no session, so that a client is verified anew (%s)",
    async (version) => {
      const port = await listen({ clientCa: ecdsa.cert });
      const client = { minVersion: version, maxVersion: version, ...ecdsa };
      const first = await open(port, client);
      let session: Buffer | undefined = first.getSession();
      first.on("session", (offered: Buffer) => (session = offered));
      // The settings of HTTP/2 follow the tickets of TLS 1.3, if there are any.
      await new Promise((resolve) => first.once("data", resolve));
      const second = await open(port, { ...client, ...(session !== undefined && { session }) });
      expect(second.isSessionReused()).toBe(false);
    },
  );
});

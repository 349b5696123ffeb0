import { connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { connect } from "node:tls";
import { mint } from "@istiod/ca/testing";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { startAuthority } from "../src/authority.js";
import { flagValues, folder, serve } from "./serving.js";

async function serveTls(set: Parameters<typeof serve>[0] = {}, env: NodeJS.ProcessEnv = {}) {
  const root = await folder({ "config/empty.yaml": "" });
  return serve(
    { configDir: join(root, "config"), caDir: join(root, "ca"), secureGRPCAddr: "127.0.0.1:0", ...set },
    env,
  );
}

/** The protocol and cipher suite that a client gets, or the error's code. */
async function handshake(
  istiod: Awaited<ReturnType<typeof serve>>,
  options: Parameters<typeof connect>[1] = {},
): Promise<string> {
  const socket = connect({
    port: istiod.addresses["secureGRPCAddr"]?.port ?? 0,
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ALPNProtocols: ["h2"],
    ...options,
  });
  try {
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return `${socket.getProtocol()} ${socket.getCipher().name}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  } finally {
    socket.destroy();
  }
}

/** The gRPC status of an empty request for a certificate. */
async function certificateStatus(istiod: Awaited<ReturnType<typeof serve>>): Promise<unknown> {
  const session = connectHttp2(`https://127.0.0.1:${istiod.addresses["secureGRPCAddr"]?.port}`, {
    rejectUnauthorized: false,
  });
  try {
    return await new Promise((resolve, reject) => {
      session.once("error", reject);
      const stream = session.request({
        ":method": "POST",
        ":path": "/istio.v1.auth.IstioCertificateService/CreateCertificate",
        "content-type": "application/grpc",
        te: "trailers",
      });
      const answered = (headers: Readonly<Record<string, unknown>>): void =>
        void (headers["grpc-status"] !== undefined && resolve(headers["grpc-status"]));
      stream.once("error", reject).on("response", answered).on("trailers", answered).resume();
      stream.end(Buffer.alloc(5));
    });
  } finally {
    session.destroy();
  }
}

describe("TLS", () => {
  it("accepts 1.2 and 1.3 by default", async () => {
    const istiod = await serveTls();
    expect(await handshake(istiod, { maxVersion: "TLSv1.2" })).toMatch(/^TLSv1\.2 /);
    expect(await handshake(istiod)).toMatch(/^TLSv1\.3 /);
  });

  it("rejects versions below --tls-min-version", async () => {
    const istiod = await serveTls({ tlsMinVersion: "1.3" });
    expect(await handshake(istiod, { maxVersion: "TLSv1.2" })).toBe("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION");
    expect(await handshake(istiod)).toMatch(/^TLSv1\.3 /);
  });

  it("accepts the suites of --tls-cipher-suites, and those of TLS 1.3", async () => {
    const istiod = await serveTls({ tlsCipherSuites: ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"] });
    expect(await handshake(istiod, { maxVersion: "TLSv1.2" })).toBe("TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384");
    expect(await handshake(istiod, { maxVersion: "TLSv1.2", ciphers: "ECDHE-RSA-AES128-GCM-SHA256" })).toMatch(
      /_ALERT_HANDSHAKE_FAILURE$/,
    );
    expect(await handshake(istiod)).toMatch(/^TLSv1\.3 /);
  });

  it("rejects suites that are not supported, also where TLS is not served", async () => {
    const configDir = await folder({ "empty.yaml": "" });
    await expect(serve({ configDir, secureGRPCAddr: "", tlsCipherSuites: ["RC4"] })).rejects.toThrow(
      "--tls-cipher-suites RC4: RC4 is not supported",
    );
  });

  it("is limited by COMPLIANCE_POLICY", async () => {
    const istiod = await serveTls({ tlsMinVersion: "1.3" }, { COMPLIANCE_POLICY: "fips-140-2" });
    expect(await handshake(istiod)).toMatch(/^TLSv1\.2 ECDHE-ECDSA-AES(?:128|256)-GCM-SHA(?:256|384)$/);
    expect(await handshake(istiod, { ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305", maxVersion: "TLSv1.2" })).toMatch(
      /_ALERT_HANDSHAKE_FAILURE$/,
    );
  });
});

describe("the certificate authority", () => {
  it("issues no certificates with ENABLE_CA_SERVER=false", async () => {
    const unauthenticated = "16";
    const unimplemented = "12";
    expect(await certificateStatus(await serveTls())).toBe(unauthenticated);
    const served = await mint({ names: [{ type: "dns", value: "istiod.istio-system.svc" }] });
    const files = await folder({ "tls.crt": served.pem, "tls.key": served.keyPem });
    const flags = { tlsCertFile: join(files, "tls.crt"), tlsKeyFile: join(files, "tls.key") };
    expect(await certificateStatus(await serveTls(flags, { ENABLE_CA_SERVER: "false" }))).toBe(unimplemented);
  });

  it("limits lifetimes by MAX_WORKLOAD_CERT_TTL, and creates its root by CITADEL_SELF_SIGNED_CA_…", async () => {
    const root = await folder({});
    const env = {
      MAX_WORKLOAD_CERT_TTL: "1h",
      CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE: "3072",
      CITADEL_SELF_SIGNED_CA_CERT_TTL: "240h",
      ROOT_CA_DIR: join(root, "none"),
    };
    const running = await startAuthority(
      flagValues({ caDir: join(root, "ca") }),
      "cluster.local",
      env,
      pino({ level: "silent" }),
    );
    const { authority } = running!;
    running!.stop();
    expect(authority.bundle.certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(3072);
    expect(authority.expiry().root - Date.parse(authority.bundle.certificate.validFrom)).toBeLessThan(241 * 3_600_000);
    await expect(
      authority.sign({ request: "", names: ["spiffe://cluster.local/ns/a/sa/b"], lifetime: 2 * 3_600_000 }),
    ).rejects.toMatchObject({ code: "ttl" });
  });
});

describe("profiles", () => {
  it.each([
    [{}, {}, 200],
    [{ profile: false }, {}, 404],
    [{}, { ENABLE_PROFILING: "false" }, 404],
  ])("are as --profile says: %o %o", async (set, env, status) => {
    const configDir = await folder({ "empty.yaml": "" });
    const istiod = await serve({ configDir, ...set }, env);
    expect((await fetch(`${istiod.http}/debug/pprof/cmdline`)).status).toBe(status);
  });
});

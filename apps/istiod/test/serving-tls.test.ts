import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect as connectHttp2 } from "node:http2";
import { connect, type TLSSocket } from "node:tls";
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  CertificateAuthority,
  issueServingCertificate,
  createSelfSignedRoot,
  selfSignedBundle,
  type ServingCertificate,
} from "@istiod/ca";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { folder, serve } from "./serving.js";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function newAuthority(organization: string): Promise<CertificateAuthority> {
  const root = await createSelfSignedRoot({ organization, key: { type: "ecdsa", curve: "P-256" } }, Date.now());
  return new CertificateAuthority({ bundle: selfSignedBundle(root, "memory", Date.now()) });
}
const issue = (authority: CertificateAuthority, name: string): Promise<ServingCertificate> =>
  issueServingCertificate(authority, [name], 3_600_000, Date.now());

describe("the certificate of --tlsCertFile", () => {
  let root: string;
  let authority: CertificateAuthority;
  let istiod: Awaited<ReturnType<typeof serve>>;
  let port: number;
  const renew = async ({ cert, key }: ServingCertificate): Promise<void> => {
    for (const [name, text] of [
      ["tls.crt", cert],
      ["tls.key", key],
    ] as const) {
      await writeFile(join(root, `${name}.tmp`), text);
      await rename(join(root, `${name}.tmp`), join(root, name));
    }
  };
  const names = async (): Promise<string | undefined> => {
    const socket: TLSSocket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    const { subjectaltname } = socket.getPeerCertificate();
    socket.destroy();
    return subjectaltname;
  };

  beforeEach(async () => {
    authority = await newAuthority("operator");
    const { cert, key } = await issue(authority, "first.example");
    root = await folder({
      "config/empty.yaml": "",
      "tls.crt": cert,
      "tls.key": key,
      "roots.pem": authority.bundle.rootsPem,
    });
    istiod = await serve({
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      secureGRPCAddr: "127.0.0.1:0",
      tlsCertFile: join(root, "tls.crt"),
      tlsKeyFile: join(root, "tls.key"),
      caCertFile: join(root, "roots.pem"),
      caCertTrustDomain: "cluster.local",
    });
    port = istiod.addresses["secureGRPCAddr"]?.port ?? 0;
  });

  it("is reloaded for new connections when its files change; open connections are kept", async () => {
    const old = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    ends.push(() => old.destroy());
    await new Promise((resolve) => old.once("connect", resolve));
    expect(await names()).toBe("DNS:first.example");
    await renew(await issue(authority, "second.example"));
    await expect.poll(names, { timeout: 10_000 }).toBe("DNS:second.example");
    expect((old.socket as TLSSocket).getPeerCertificate().subjectaltname).toBe("DNS:first.example");
    await new Promise<void>((resolve, reject) => old.ping((error) => (error ? reject(error) : resolve())));
    expect(istiod.lines.map(({ msg }) => msg)).toContain(
      `reloaded ${join(root, "tls.crt")} and ${join(root, "tls.key")}`,
    );
  });

  it("is kept if the new file is invalid, which is logged with the file's name", async () => {
    await writeFile(join(root, "tls.key"), "-----BEGIN PRIVATE KEY-----\n");
    const message = `TLS certificates not renewed, keeping the last good ones: ${join(root, "tls.key")}: not an unencrypted private key in PEM`;
    await expect
      .poll(() => istiod.lines.find(({ msg }) => msg.startsWith(message))?.level, { timeout: 10_000 })
      .toBe("error");
    expect(await names()).toBe("DNS:first.example");
    await renew(await issue(authority, "third.example"));
    await expect.poll(names, { timeout: 10_000 }).toBe("DNS:third.example");
  });

  it("is verified by clients with the current roots of --caCertFile", async () => {
    const other = await newAuthority("another operator");
    const proxy = create(NodeSchema, {
      id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local",
      metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "web" } as JsonObject,
    });
    const { cert, key } = await issue(other, "spiffe://cluster.local/ns/shop/sa/web");
    const attempt = async (): Promise<string> => {
      const client = new XdsClient(
        { host: "127.0.0.1", port, tls: { rejectUnauthorized: false, cert, key } },
        { variant: "delta", node: proxy },
      );
      try {
        client.subscribe(clusterType);
        await client.accept(clusterType);
        return "served";
      } catch (error) {
        return (error as Error).message;
      } finally {
        client.close();
      }
    };
    expect(await attempt()).not.toBe("served");
    await writeFile(join(root, "roots.pem"), authority.bundle.rootsPem + other.bundle.rootsPem);
    await expect.poll(attempt, { timeout: 10_000 }).toBe("served");
  });
});

it("istiod exits if a file of its certificate is invalid", async () => {
  const root = await folder({ "config/empty.yaml": "", "tls.crt": "none", "tls.key": "none" });
  const flags = {
    configDir: join(root, "config"),
    caDir: join(root, "ca"),
    secureGRPCAddr: "127.0.0.1:0",
    tlsCertFile: join(root, "tls.crt"),
  };
  await expect(serve(flags)).rejects.toThrow("--tlsKeyFile is missing: --tlsCertFile and --tlsKeyFile belong together");
  await expect(serve({ ...flags, tlsKeyFile: join(root, "tls.key") })).rejects.toThrow(
    `--secureGRPCAddr 127.0.0.1:0: ${join(root, "tls.crt")}: no PEM block "CERTIFICATE" found`,
  );
});

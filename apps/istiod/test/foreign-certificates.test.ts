import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import type { KubernetesObject } from "@istiod/kubernetes";
import { clusterType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { folder, serve } from "./serving.js";
import { startTestCluster, type TestCluster } from "./test-clusters.js";

const run = promisify(execFile);
const until = { timeout: 20_000 };

/** A CA of openssl, as an operator has one elsewhere. */
class ForeignCa {
  private constructor(readonly directory: string) {}

  static async create(name: string): Promise<ForeignCa> {
    const directory = await mkdtemp(join(tmpdir(), "foreign-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const [key, cert] = [join(directory, "ca.key"), join(directory, "ca.crt")];
    await run("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...["-subj", `/CN=${name}`, "-keyout", key, "-out", cert],
    ]);
    return new ForeignCa(directory);
  }

  roots(): Promise<string> {
    return readFile(join(this.directory, "ca.crt"), "utf8");
  }

  /** Issues a certificate with a subject alternative name. */
  async issue(name: string): Promise<{ readonly cert: string; readonly key: string }> {
    const path = (file: string): string => join(this.directory, file);
    await writeFile(path("ext"), `subjectAltName=${name}\nextendedKeyUsage=serverAuth,clientAuth\n`);
    await run("openssl", [
      ...["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/O=foreign"],
      ...["-keyout", path("key"), "-out", path("csr")],
    ]);
    await run("openssl", [
      ...["x509", "-req", "-in", path("csr"), "-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-days", "1"],
      ...["-CAcreateserial", "-extfile", path("ext"), "-out", path("crt")],
    ]);
    return { cert: await readFile(path("crt"), "utf8"), key: await readFile(path("key"), "utf8") };
  }
}

const istiodName = "istiod.istio-system.svc";

/** Replaces the files of a directory at once, as Kubernetes does in a volume. */
async function project(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(directory, { recursive: true });
  const version = await mkdtemp(join(directory, "..v"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(version, name), text);
  await symlink(basename(version), join(directory, "..tmp"));
  await rename(join(directory, "..tmp"), join(directory, "..data"));
  for (const name of Object.keys(files)) await symlink(`..data/${name}`, join(directory, name)).catch(() => undefined);
}

/** Returns the code and words of `openssl s_client` that verifies istiod by these roots. */
async function verification(port: number, roots: string): Promise<string> {
  const file = join(await folder({ "roots.pem": roots }), "roots.pem");
  const { stdout } = await run("sh", [
    "-c",
    `openssl s_client -connect 127.0.0.1:${port} -servername ${istiodName} -verify_hostname ${istiodName} -CAfile '${file}' -brief </dev/null 2>&1 || true`,
  ]);
  return /Verification(?: error)?: .*/.exec(stdout)?.[0] ?? stdout;
}

const configMaps = async (cluster: TestCluster, name: string): Promise<readonly string[]> => {
  const found = await cluster.read<KubernetesObject & { readonly data: Readonly<Record<string, string>> }>(
    "ConfigMap",
    name,
    "shop",
  );
  return Object.values(found?.data ?? {});
};

type Flags = Parameters<typeof serve>[0];

async function start({ kubeconfig }: TestCluster, flags: Flags, env: NodeJS.ProcessEnv = {}) {
  const file = join(await folder({ kubeconfig }), "kubeconfig");
  const istiod = await serve({ kubeconfig: file, secureGRPCAddr: "127.0.0.1:0", ...flags }, env);
  return { istiod, port: istiod.addresses["secureGRPCAddr"]?.port ?? 0 };
}

describe("a serving certificate of --tlsCertFile in a cluster", () => {
  it("is verified by the distributed roots, which follow --caCertFile and have those of istiod's CA", async (context) => {
    const cluster = await startTestCluster("in memory", context);
    const [ca, next] = [await ForeignCa.create("operator"), await ForeignCa.create("next")];
    const { cert, key } = await ca.issue(`DNS:${istiodName}`);
    const files = await folder({ "tls.crt": cert, "tls.key": key, "ca.crt": await ca.roots() });
    const { istiod, port } = await start(cluster, {
      tlsCertFile: join(files, "tls.crt"),
      tlsKeyFile: join(files, "tls.key"),
      caCertFile: join(files, "ca.crt"),
    });
    const distributed = async (): Promise<string> => (await configMaps(cluster, "istio-ca-root-cert"))[0] ?? "";
    await expect.poll(async () => verification(port, await distributed()), until).toBe("Verification: OK");
    const [file, own] = (await distributed()).split(/(?<=-----END CERTIFICATE-----\n)/);
    expect(file?.trim()).toBe((await ca.roots()).trim());
    expect(await verification(port, own ?? "")).toMatch(/^Verification error: unable to /);
    await writeFile(join(files, "ca.crt"), (await ca.roots()) + (await next.roots()));
    await expect.poll(distributed, until).toContain((await next.roots()).trim());
    await writeFile(join(files, "ca.crt"), "none");
    await expect
      .poll(() => istiod.lines.map(({ msg }) => msg).join("\n"), until)
      .toContain(`${join(files, "ca.crt")}: keeping the last good roots`);
    expect(await distributed()).toContain((await next.roots()).trim());
  });

  it("without --caCertFile is not distributed, which a warning says", async (context) => {
    const cluster = await startTestCluster("in memory", context);
    const { cert, key } = await (await ForeignCa.create("operator")).issue(`DNS:${istiodName}`);
    const files = await folder({ "tls.crt": cert, "tls.key": key });
    const flags = { tlsCertFile: join(files, "tls.crt"), tlsKeyFile: join(files, "tls.key") };
    const { istiod } = await start(cluster, flags);
    expect(istiod.lines.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^--caCertFile is not set: .* agents without it cannot connect$/),
    );
    await expect.poll(() => configMaps(cluster, "istio-ca-root-cert"), until).toHaveLength(1);
  });
});

describe("the certificates of istio-csr in ./var/run/secrets/istiod", () => {
  const home = process.cwd();
  afterEach(() => process.chdir(home));

  const noCa = { ENABLE_CA_SERVER: "false" };

  /** Returns the number of the certificate that is served, and whether a client certificate of its CA is accepted. */
  async function served(port: number, ca: ForeignCa): Promise<readonly string[]> {
    const { cert, key } = await ca.issue("URI:spiffe://cluster.local/ns/shop/sa/web");
    const node = create(NodeSchema, {
      id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local",
      metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "web" } as JsonObject,
    });
    const tls = { ca: await ca.roots(), servername: istiodName, cert, key };
    const client = new XdsClient({ host: "127.0.0.1", port, tls }, { variant: "delta", node });
    try {
      client.subscribe(clusterType);
      await client.accept(clusterType);
      return [await verification(port, await ca.roots()), "served"];
    } catch (error) {
      return [await verification(port, await ca.roots()), (error as Error).message];
    } finally {
      client.close();
    }
  }

  it.each([
    ["ca/root-cert.pem", "ca", "root-cert.pem"],
    ["tls/ca.crt", "tls", "ca.crt"],
  ])(
    "are served and reloaded with the roots in %s; without a CA, nothing is made or distributed",
    async (_, directory, name) => {
      const cluster = await startTestCluster("in memory", { skip: () => undefined } as never);
      process.chdir(await folder({}));
      const write = async (ca: ForeignCa, roots: readonly ForeignCa[]): Promise<void> => {
        const { cert, key } = await ca.issue(`DNS:${istiodName}`);
        const pem = (await Promise.all(roots.map((each) => each.roots()))).join("");
        const base = "var/run/secrets/istiod";
        if (directory === "ca") await project(join(base, "ca"), { [name]: pem });
        await project(join(base, "tls"), {
          "tls.crt": cert,
          "tls.key": key,
          ...(directory === "tls" && { [name]: pem }),
        });
      };
      const [first, second] = [await ForeignCa.create("first"), await ForeignCa.create("second")];
      await write(first, [first]);
      const { istiod, port } = await start(cluster, {}, noCa);
      expect(await served(port, first)).toEqual(["Verification: OK", "served"]);
      await write(second, [first, second]);
      await expect.poll(() => served(port, second), until).toEqual(["Verification: OK", "served"]);
      await write(second, [second]);
      await expect.poll(async () => (await served(port, first))[1], until).not.toBe("served");

      const transport = createGrpcTransport({
        baseUrl: `https://127.0.0.1:${port}`,
        nodeOptions: { rejectUnauthorized: false },
      });
      const status = await createClient(IstioCertificateService, transport)
        .createCertificate({ csr: "any" })
        .then(
          () => undefined,
          (error: unknown) => ConnectError.from(error).code,
        );
      expect(status).toBe(Code.Unimplemented);
      expect(await configMaps(cluster, "istio-ca-root-cert")).toEqual([]);
      expect(await cluster.read("Secret", "istio-ca-secret", "istio-system")).toBeUndefined();
      expect((await fetch(`${istiod.http}/ready`)).status).toBe(200);
    },
    60_000,
  );

  it("yield to --tlsCertFile, and are not used without roots", async (context) => {
    const cluster = await startTestCluster("in memory", context);
    process.chdir(await folder({}));
    const [ca, operator] = [await ForeignCa.create("istio-csr"), await ForeignCa.create("operator")];
    const { cert, key } = await ca.issue(`DNS:${istiodName}`);
    await project("var/run/secrets/istiod/tls", { "tls.crt": cert, "tls.key": key });
    const own = await start(cluster, {});
    expect(await verification(own.port, await ca.roots())).toMatch(/^Verification error/);
    await project("var/run/secrets/istiod/ca", { "root-cert.pem": await ca.roots() });
    const csr = await start(cluster, {});
    expect(await verification(csr.port, await ca.roots())).toBe("Verification: OK");
    const given = await operator.issue(`DNS:${istiodName}`);
    const files = await folder({ "tls.crt": given.cert, "tls.key": given.key, "ca.crt": await operator.roots() });
    const flags = { tlsCertFile: join(files, "tls.crt"), tlsKeyFile: join(files, "tls.key") };
    const flagged = await start(cluster, { ...flags, caCertFile: join(files, "ca.crt") });
    expect(await verification(flagged.port, await operator.roots())).toBe("Verification: OK");
  });

  it("are needed with ENABLE_CA_SERVER=false: without them, TLS is not served", async (context) => {
    const cluster = await startTestCluster("in memory", context);
    process.chdir(await folder({}));
    const { istiod } = await start(cluster, { caDir: "ca" }, noCa);
    expect(istiod.addresses["secureGRPCAddr"]).toBeUndefined();
    expect(istiod.lines.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^--secureGRPCAddr 127\.0\.0\.1:0: not served with ENABLE_CA_SERVER=false/),
    );
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { folder, serve } from "./serving.js";
import { statusOf } from "./troubled-mesh.js";

const noOpenssl =
  spawnSync("openssl", ["version"]).status === 0 ? undefined : "there is no openssl to make certificates with";
const ca = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n";
const p256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** An operator's CA in `plugged`: a root of 400 days and an intermediate that signs. */
async function pluggedIn(root: string, days: number): Promise<string> {
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: root, stdio: "pipe" });
  await writeFile(join(root, "ext"), ca);
  openssl(
    "req",
    "-x509",
    "-new",
    ...p256,
    "-keyout",
    "root-key.pem",
    "-out",
    "root-cert.pem",
    "-subj",
    "/O=Acme/CN=Root",
    "-days",
    "400",
    "-addext",
    "keyUsage=critical,keyCertSign",
  );
  openssl("req", "-new", ...p256, "-keyout", "ca-key.pem", "-out", "csr", "-subj", "/O=Acme/CN=Mesh");
  openssl(
    "x509",
    "-req",
    "-in",
    "csr",
    "-CA",
    "root-cert.pem",
    "-CAkey",
    "root-key.pem",
    "-CAcreateserial",
    "-out",
    "ca-cert.pem",
    "-days",
    String(days),
    "-extfile",
    "ext",
  );
  const directory = join(root, "plugged");
  await mkdir(directory);
  for (const [from, to] of [
    ["root-cert.pem", "root-cert.pem"],
    ["ca-cert.pem", "ca-cert.pem"],
    ["ca-key.pem", "ca-key.pem"],
    ["ca-cert.pem", "cert-chain.pem"],
  ] as const)
    await cp(join(root, from), join(directory, to));
  return directory;
}

describe("certificates on the status page", () => {
  beforeEach(({ skip }) => skip(noOpenssl !== undefined, noOpenssl));

  it("include those of a plugged-in CA, marked if they expire in less than 30 days", async () => {
    const root = await folder({ "config/empty.yaml": "" });
    const istiod = await serve(
      { configDir: join(root, "config"), secureGRPCAddr: "127.0.0.1:0" },
      { ROOT_CA_DIR: await pluggedIn(root, 20) },
    );
    const { state, certificates } = await statusOf(istiod);
    expect(state).toBe("error");
    expect(certificates).toEqual([
      expect.objectContaining({ role: "Serving certificate", isLate: false, renewalDue: expect.any(Number) as number }),
      expect.objectContaining({
        role: "Signing certificate of the plugged-in CA",
        subject: "O=Acme, CN=Mesh",
        isLate: true,
        brief: "19d left",
      }),
      expect.objectContaining({ role: "Root", subject: "O=Acme, CN=Root", isLate: false }),
    ]);
    expect(certificates.map((each) => Object.hasOwn(each, "renewalDue"))).toEqual([true, false, false]);
  });

  it("include a serving certificate that istiod does not renew", async () => {
    const root = await folder({ "config/empty.yaml": "" });
    execFileSync(
      "openssl",
      ["req", "-x509", "-new", ...p256, "-keyout", "tls.key", "-out", "tls.crt", "-subj", "/CN=istiod", "-days", "10"],
      { cwd: root, stdio: "pipe" },
    );
    const own = { tlsCertFile: join(root, "tls.crt"), tlsKeyFile: join(root, "tls.key") };
    const { certificates } = await statusOf(
      await serve({ configDir: join(root, "config"), caDir: join(root, "ca"), secureGRPCAddr: "127.0.0.1:0", ...own }),
    );
    expect(certificates[0]).toMatchObject({
      role: "Serving certificate",
      subject: "CN=istiod",
      isLate: true,
      verdict: expect.stringMatching(/^expires in 9d 23h/) as string,
    });
    expect(certificates[0]).not.toHaveProperty("renewalDue");
  });

  it("are empty if istiod has none", async () => {
    const istiod = await serve({ configDir: await folder({}) });
    expect((await statusOf(istiod)).certificates).toEqual([]);
    expect(await (await fetch(`${istiod.http}/`)).text()).toContain(
      "this istiod signs no certificates and serves no TLS",
    );
  });
});

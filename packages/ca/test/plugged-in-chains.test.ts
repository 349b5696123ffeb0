import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CertificateAuthority, readPluggedInCa, type SigningBundle } from "@istiod/ca";
import { mint, type Minted, mintRevocationList, type MintOptions } from "@istiod/ca/testing";
import { describe, expect, it } from "vitest";
import { reload } from "../src/roots/watch-plugged-in-ca.js";
import { ExtendedKeyUsage, KeyUsageFlags } from "../src/x509.js";
import { openssl, P256, request, scratch } from "./openssl.js";

const CART = "spiffe://cluster.local/ns/shop/sa/cart";
const day = 24 * 3_600_000;

interface Files {
  readonly signer: Minted;
  /** Certificates of cert-chain.pem. */
  readonly chain: readonly Minted[];
  readonly roots: readonly Minted[];
  /** PEM of ca-crl.pem. */
  readonly lists?: string;
}

async function write(directory: string, { signer, chain, roots, lists }: Files): Promise<void> {
  const pem = (certificates: readonly Minted[]): string => certificates.map((each) => each.pem).join("");
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "ca-cert.pem"), signer.pem);
  await writeFile(join(directory, "ca-key.pem"), signer.keyPem);
  await writeFile(join(directory, "cert-chain.pem"), pem(chain));
  await writeFile(join(directory, "root-cert.pem"), pem(roots));
  await rm(join(directory, "ca-crl.pem"), { force: true });
  if (lists !== undefined) await writeFile(join(directory, "ca-crl.pem"), lists);
}

async function load(files: Files, readsRevocationLists = true): Promise<SigningBundle> {
  const directory = await scratch();
  await write(directory, files);
  const bundle = await readPluggedInCa(directory, Date.now(), { readsRevocationLists });
  if (bundle === undefined) throw new Error("no CA");
  return bundle;
}

/** The message of the error with which files are rejected, without their directory. */
async function rejection(files: Files): Promise<string> {
  return load(files).then(
    () => "accepted",
    (error: Error) => error.message.replaceAll(/\/\S+: (?=[a-z-]+\.pem)/g, ""),
  );
}

/** A root, two intermediates and the signing certificate below them. */
async function levels(options: Partial<Record<"upper" | "lower" | "signer", MintOptions>> = {}) {
  const root = await mint({ ca: true, subject: "CN=root" });
  const upper = await mint({ ca: true, subject: "CN=upper", issuer: root, ...options.upper });
  const lower = await mint({ ca: true, subject: "CN=lower", issuer: upper, ...options.lower });
  const signer = await mint({ ca: true, subject: "CN=signer", issuer: lower, ...options.signer });
  return { root, upper, lower, signer, files: { signer, chain: [signer, lower, upper], roots: [root] } };
}

describe("a plugged-in CA with several levels", () => {
  it("issues certificates that openssl verifies, whatever the order of the chain", async () => {
    const { files: ca, upper, lower, signer } = await levels();
    for (const chain of [ca.chain, [upper, lower, signer], [lower, upper]]) {
      const authority = new CertificateAuthority({ bundle: await load({ ...ca, chain }) });
      const issued = await authority.sign({ request: (await request(P256)).request, names: [CART] });
      const directory = await scratch();
      const at = (name: string): string => join(directory, name);
      await writeFile(at("leaf.pem"), issued.certificate);
      await writeFile(at("chain.pem"), issued.chain.join(""));
      await writeFile(at("roots.pem"), issued.roots);
      const files = ["-CAfile", at("roots.pem"), "-untrusted", at("chain.pem"), at("leaf.pem")];
      expect(await openssl("verify", "-purpose", "sslclient", ...files)).toBe(`${at("leaf.pem")}: OK\n`);
    }
  });

  it("finds the path to a root among cross-signed ones", async () => {
    const old = await mint({ ca: true, subject: "CN=old" });
    const next = await mint({ ca: true, subject: "CN=next" });
    const cross = await mint({ ca: true, subject: "CN=next", issuer: old, key: next.key });
    const signer = await mint({ ca: true, subject: "CN=signer", issuer: next });
    const anchorOf = async (chain: readonly Minted[], roots: readonly Minted[]) =>
      (await load({ signer, chain: [signer, ...chain], roots })).anchor.subject;
    expect(await anchorOf([cross], [old])).toBe("CN=old");
    expect(await anchorOf([cross], [next])).toBe("CN=next");
    expect(await anchorOf([cross], [old, next])).toBe("CN=next");
    // The first candidate ends in nothing, another one leads to the root.
    const expired = await mint({ ca: true, subject: "CN=next", issuer: old, key: next.key, notAfter: -1 });
    expect(await anchorOf([expired, cross], [old])).toBe("CN=old");
    expect(await anchorOf([next, cross], [old])).toBe("CN=old");
  });

  it.each<[string, Parameters<typeof levels>[0], string]>([
    [
      "a path that is too long",
      { upper: { pathLength: 1 } },
      "allows 1 intermediates below it (pathLenConstraint), there are 2",
    ],
    [
      "an intermediate for other usages",
      { lower: { keyUsages: KeyUsageFlags.cRLSign } },
      "its key usage lacks keyCertSign",
    ],
    [
      "an intermediate for servers only",
      { lower: { extendedKeyUsages: [ExtendedKeyUsage.serverAuth] } },
      "its extended key usage lacks serverAuth or clientAuth",
    ],
    ["an intermediate that has expired", { upper: { notAfter: -1000 } }, "expired at "],
    ["an intermediate that is not valid yet", { upper: { notBefore: day, notAfter: 2 * day } }, "is not valid before "],
    ["an intermediate that is no CA", { lower: { ca: false } }, "is not a CA certificate, so it may not sign others"],
  ])("is rejected with %s, by file and certificate", async (_, options, reason) => {
    const { files } = await levels(options);
    const message = await rejection(files);
    expect(message).toContain(reason);
    expect(message).toMatch(/^cert-chain\.pem: certificate [23]: certificate CN=(upper|lower) /);
  });

  it("is rejected with a missing intermediate, or a root that is no CA", async () => {
    const { files, signer, lower, root } = await levels();
    expect(await rejection({ ...files, chain: [signer, lower] })).toBe(
      "cert-chain.pem: certificate 2: certificate CN=lower does not lead to a root: no certificate of its issuer (CN=upper) is given",
    );
    const leaf = await mint({ subject: "CN=leaf", issuer: root });
    expect(await rejection({ ...files, roots: [root, leaf] })).toBe(
      "root-cert.pem: certificate 2: certificate CN=leaf is not a CA certificate, so it is no root",
    );
  });

  it("is rejected in bounded time with many certificates of one name", async () => {
    const { files, signer, lower } = await levels();
    const copies = await Promise.all(
      Array.from({ length: 20 }, () => mint({ ca: true, subject: "CN=lower", issuer: lower, key: lower.key })),
    );
    expect(await rejection({ ...files, chain: [signer, ...copies] })).toContain("does not lead to a root");
  });
});

describe("ca-crl.pem", () => {
  const listsOf = async (...issuers: readonly Minted[]): Promise<string> =>
    (await Promise.all(issuers.map((issuer) => mintRevocationList(issuer)))).join("");

  it("is accepted with a current list of every CA on the path", async () => {
    const { files, root, upper, lower, signer } = await levels();
    const lists = await listsOf(root, upper, lower, signer);
    const bundle = await load({ ...files, lists });
    expect(bundle.revocationLists).toHaveLength(4);
    expect(bundle.revocationListsPem.match(/BEGIN X509 CRL/g)).toHaveLength(4);
    // Only lists are distributed, whatever else the file has.
    const spilled = await load({ ...files, lists: `${signer.keyPem}${lists}` });
    expect(spilled.revocationListsPem).toBe(bundle.revocationListsPem);
    expect((await load({ ...files, lists }, false)).revocationLists).toEqual([]);
  });

  it("is rejected if a CA has no current list of its own, because Envoy would reject all of its certificates", async () => {
    const { files, root, upper, lower, signer } = await levels();
    const others = await listsOf(root, upper, lower);
    const forger = await mint({ ca: true, subject: "CN=signer" });
    const name = "ca-crl.pem: certificate CN=signer has";
    expect(await rejection({ ...files, lists: others })).toBe(`${name} no revocation list`);
    expect(await rejection({ ...files, lists: others + (await listsOf(forger)) })).toBe(
      `${name} a revocation list whose signature does not match its key`,
    );
    expect(
      await rejection({ ...files, lists: others + (await mintRevocationList(signer, { nextUpdate: -1000 })) }),
    ).toMatch(/^ca-crl\.pem: certificate CN=signer has a revocation list that expired at /);
    expect(
      await rejection({ ...files, lists: others + (await mintRevocationList(signer, { thisUpdate: day })) }),
    ).toMatch(/^ca-crl\.pem: certificate CN=signer has a revocation list that is not valid before /);
    expect(await rejection({ ...files, lists: "none" })).toBe('ca-crl.pem: no PEM block "X509 CRL" found');
  });

  it("is reloaded with the CA, and the last good lists stay active if the file disappears", async () => {
    const { files, root, upper, lower, signer } = await levels();
    const directory = await scratch();
    await write(directory, { ...files, lists: await listsOf(root, upper, lower, signer) });
    const bundle = await readPluggedInCa(directory, Date.now(), { readsRevocationLists: true });
    const authority = new CertificateAuthority({ bundle: bundle! });
    const options = { directory, authority, readsRevocationLists: true };
    const revoked = (): boolean => authority.bundle.revocationLists.some((list) => list.revoked.has("abcd"));
    const lists = (await listsOf(root, upper, lower)) + (await mintRevocationList(signer, { revoked: ["abcd"] }));
    await write(directory, { ...files, lists });
    expect(await reload(options)).toBe(true);
    expect(revoked()).toBe(true);
    await write(directory, files);
    await expect(reload(options)).rejects.toMatchObject({
      message: `${directory}: ca-crl.pem is missing, keeping the last good revocation lists`,
    });
    expect(revoked()).toBe(true);
  });
});

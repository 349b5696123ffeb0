import { generateKeyPairSync } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CertificateAuthority,
  readPluggedInCa,
  revocationFault,
  type SigningBundle,
  trustBundleOf,
  verifiedIdentity,
  watchPluggedInCa,
} from "@istiod/ca";
import { mint, type Minted, mintRevocationList, type MintOptions, uri } from "@istiod/ca/testing";
import { FakeClock } from "@istiod/runtime/testing";
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
    ({ revocationProblem = "accepted" }) => revocationProblem.replaceAll(/\/\S+: (?=[a-z-]+\.pem)/g, ""),
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

  /** A plugged-in CA with lists of its four CAs, of which the last one's has these entries. */
  async function withLists(revoked: readonly string[] = ["abcd"]) {
    const { files, root, upper, lower, signer } = await levels();
    const directory = await scratch();
    const above = await listsOf(root, upper, lower);
    const lists = above + (await mintRevocationList(signer, { revoked }));
    await write(directory, { ...files, lists });
    const bundle = await readPluggedInCa(directory, Date.now(), { readsRevocationLists: true });
    const authority = new CertificateAuthority({ bundle: bundle! });
    const options = { directory, authority, readsRevocationLists: true };
    const isRevoked = (): boolean => authority.bundle.revocationLists.some((list) => list.revoked.has("abcd"));
    const file = join(directory, "ca-crl.pem");
    return { files, root, upper, lower, signer, directory, above, lists, authority, options, isRevoked, file };
  }

  it("is reloaded with the CA", async () => {
    const { options, isRevoked, files, directory, above, signer } = await withLists([]);
    expect(isRevoked()).toBe(false);
    await write(directory, { ...files, lists: above + (await mintRevocationList(signer, { revoked: ["abcd"] })) });
    expect(await reload(options)).toBe(true);
    expect(isRevoked()).toBe(true);
  });

  it.each<[string, (file: string) => Promise<unknown>]>([
    ["removed", (file) => rm(file)],
    ["emptied", (file) => writeFile(file, "")],
    ["left with a blank line", (file) => writeFile(file, " \n")],
  ])("is cleared if it is %s", async (_, clear) => {
    const { options, authority, isRevoked, file, lists } = await withLists();
    await clear(file);
    expect(await reload(options)).toBe(true);
    expect(authority.bundle).toMatchObject({ revocationLists: [], revocationListsPem: "" });
    expect(authority.bundle.revocationProblem).toBeUndefined();
    await writeFile(file, lists);
    expect(await reload(options)).toBe(true);
    expect(isRevoked()).toBe(true);
  });

  it("keeps the last good lists if it becomes invalid, and says so until it is valid or cleared", async () => {
    const { options, authority, isRevoked, file, lists, above } = await withLists();
    for (const [content, reason] of [
      ["garbage", 'ca-crl.pem: no PEM block "X509 CRL" found'],
      [above, "ca-crl.pem: certificate CN=signer has no revocation list"],
    ] as const) {
      await writeFile(file, content);
      await expect(reload(options)).rejects.toMatchObject({
        message: expect.stringMatching(`${reason}; keeping the last good revocation lists$`),
      });
      expect([isRevoked(), authority.bundle.revocationProblem]).toEqual([true, expect.stringContaining(reason)]);
    }
    await writeFile(file, lists);
    expect(await reload(options)).toBe(false);
    expect(authority.bundle.revocationProblem).toBeUndefined();
  });

  it.each(["garbage", "the former list"])("never delays a new signing certificate, here with %s", async (content) => {
    const { options, authority, isRevoked, lower, files, directory, file, lists } = await withLists();
    const next = await mint({ ca: true, subject: "CN=next", issuer: lower });
    await write(directory, { ...files, signer: next, chain: [next, ...files.chain.slice(1)] });
    await writeFile(file, content === "garbage" ? content : lists);
    await expect(reload(options)).rejects.toMatchObject({ message: expect.stringContaining("ca-crl.pem: ") });
    expect(authority.bundle.certificate.subject).toBe("CN=next");
    expect(isRevoked()).toBe(true);
    // Without a list of the new certificate, Envoy and istiod would reject everything that it issues.
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const leaf = await mint({ issuer: next, names: [uri(CART)], publicKey });
    const chain = [leaf, next, ...files.chain.slice(1)].map(({ certificate }) => certificate.raw);
    const identity = (): unknown =>
      verifiedIdentity(chain, [trustBundleOf("cluster.local", authority.bundle)], Date.now());
    expect(identity()).toMatchObject({ serviceAccount: "cart" });
    const crl = join(directory, "distributed.pem");
    await writeFile(crl, authority.bundle.revocationListsPem);
    await writeFile(join(directory, "leaf.pem"), leaf.pem);
    await writeFile(join(directory, "chain.pem"), [next, ...files.chain.slice(1)].map(({ pem }) => pem).join(""));
    const roots = join(directory, "root-cert.pem");
    expect(
      await openssl(
        ...["verify", "-crl_check_all", "-CAfile", roots, "-CRLfile", crl],
        ...["-untrusted", join(directory, "chain.pem"), join(directory, "leaf.pem")],
      ),
    ).toContain("leaf.pem: OK");
    // The added list is not signed again.
    const { revocationListsPem } = authority.bundle;
    await expect(reload(options)).rejects.toThrow("ca-crl.pem: ");
    expect(authority.bundle.revocationListsPem).toBe(revocationListsPem);
  });

  it("is reloaded although the new signing certificate is invalid", async () => {
    const { options, authority, isRevoked, directory, file, above, signer } = await withLists([]);
    await writeFile(join(directory, "ca-key.pem"), "half");
    await writeFile(file, above + (await mintRevocationList(signer, { revoked: ["abcd"] })));
    await expect(reload(options)).rejects.toMatchObject({ code: "malformed" });
    expect([isRevoked(), authority.bundle.certificate.subject]).toEqual([true, "CN=signer"]);
  });

  it("that is invalid from the start delays nothing, and client certificates are rejected meanwhile", async () => {
    const { files, signer } = await levels();
    const bundle = await load({ ...files, lists: "garbage" });
    expect(bundle.certificate.subject).toBe("CN=signer");
    const leaf = await mint({ issuer: signer, names: [uri(CART)] });
    expect(() =>
      verifiedIdentity([leaf.certificate.raw], [trustBundleOf("cluster.local", bundle)], Date.now()),
    ).toThrow(/^it is unknown which certificates are revoked: .*ca-crl\.pem: no PEM block/);
    expect(revocationFault(bundle, Date.now())).toMatch(/; there are no last good revocation lists, client/);
  });

  it("is read again every minute while it is invalid: a list may become valid", async () => {
    const { files, above, signer, directory, authority } = await withLists();
    const clock = new FakeClock(Date.now());
    const lists = above + (await mintRevocationList(signer, { thisUpdate: 90_000, nextUpdate: day, revoked: ["ef"] }));
    await write(directory, { ...files, lists });
    const options = { directory, authority, readsRevocationLists: true, clock };
    await expect(reload(options)).rejects.toThrow("is not valid before");
    const errors: string[] = [];
    const stop = watchPluggedInCa({ ...options, onError: ({ message }) => errors.push(message) });
    clock.advance(60_000);
    await expect.poll(() => errors).toEqual([expect.stringContaining("is not valid before")]);
    await expect.poll(() => clock.pending).toEqual([60_000]);
    clock.advance(60_000);
    await expect.poll(() => authority.bundle.revocationProblem).toBeUndefined();
    expect(authority.bundle.revocationLists.some(({ revoked }) => revoked.has("ef"))).toBe(true);
    stop();
  });
});

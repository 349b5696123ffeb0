import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CaError,
  CertificateAuthority,
  createSelfSignedRoot,
  RootRotation,
  SecretRootStore,
  type SecretStore,
  selfSignedBundle,
  type StoredRoot,
} from "@istiod/ca";
import { mint, type Minted } from "@istiod/ca/testing";
import { FakeClock } from "@istiod/runtime/testing";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPluggedInCa } from "../src/roots/plugged-in-ca.js";
import { reload } from "../src/roots/watch-plugged-in-ca.js";

const runs = Number(process.env["HOSTILE_SECRETS"] ?? 200);
const timeout = 1_800_000;

let root: StoredRoot;
let other: StoredRoot;
let leaf: Minted;
/** In its grace period: it is renewed if its key is there. */
let aged: StoredRoot;
beforeAll(async () => {
  const key = { type: "ecdsa", curve: "P-256" } as const;
  [root, other] = [
    await createSelfSignedRoot({ organization: "td", key }, Date.now()),
    await createSelfSignedRoot({ organization: "td", key }, Date.now()),
  ];
  leaf = await mint({ names: [] });
  const day = 86_400_000;
  aged = await createSelfSignedRoot({ organization: "td", key, lifetime: 100 * day }, Date.now() - 95 * day);
});

/** Texts that may be in an entry: valid ones that do not fit, altered ones, and garbage of any size. */
const texts = () => {
  const valid = [root, other, aged].flatMap(({ certificate, privateKey }) => [certificate, privateKey]);
  valid.push(leaf.pem, leaf.keyPem, "");
  const cut = fc
    .tuple(fc.constantFrom(...valid), fc.nat(1000), fc.string({ maxLength: 8 }), fc.nat(8))
    .map(([text, at, inserted, removed]) => text.slice(0, at) + inserted + text.slice(at + removed));
  const huge = fc
    .tuple(fc.constantFrom("A", "\n", ...valid.slice(0, 2)), fc.integer({ min: 1, max: 200_000 }))
    .map(([text, length]) => text.repeat(Math.ceil(length / text.length)).slice(0, length));
  const block = fc
    .tuple(
      fc.constantFrom("CERTIFICATE", "PRIVATE KEY", "EC PRIVATE KEY", "X509 CRL"),
      fc.base64String({ maxLength: 400 }),
    )
    .map(([label, body]) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`);
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...valid) },
    { weight: 4, arbitrary: cut },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 300 }) },
    { weight: 2, arbitrary: block },
    { weight: 1, arbitrary: huge },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
};

/** The entries that are present. */
const present = (entries: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The public key of a certificate. */
const keyOf = (pem = ""): string =>
  new X509Certificate(pem).publicKey.export({ type: "spki", format: "pem" }).toString();

const isUsable = ({ bundle }: CertificateAuthority): boolean =>
  bundle.certificate.checkPrivateKey(bundle.privateKey) && bundle.roots.length > 0;

describe("a Secret that somebody fills with anything", () => {
  it(
    "as istio-ca-secret or cacerts gives a usable root or a CaError, and the last good root stays",
    async () => {
      let renewals = 0;
      const renewable = {
        "ca-cert.pem": aged.certificate,
        "ca-key.pem": aged.privateKey,
        "root-cert.pem": aged.certificate,
        "istio-generated": "" as const,
      };
      const secret = fc.record({
        name: fc.constantFrom("istio-ca-secret", "cacerts"),
        data: fc.record({
          "ca-cert.pem": texts(),
          "ca-key.pem": texts(),
          "root-cert.pem": texts(),
          "istio-generated": fc.constantFrom("", undefined),
        }),
      });
      await fc.assert(
        fc.asyncProperty(secret, async ({ name, data }) => {
          const secrets: SecretStore = {
            namespace: "istio-system",
            read: async (asked) =>
              asked === name ? { name, type: "istio.io/ca-root", version: "2", data: present(data) } : undefined,
            create: async () => false,
            replace: async (_, written) => {
              expect(keyOf(written["ca-cert.pem"])).toBe(keyOf(data["ca-cert.pem"]));
              expect(written["ca-key.pem"]).toBe(data["ca-key.pem"]);
              renewals++;
              return true;
            },
          };
          const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
          const before = authority.bundle;
          const store = new SecretRootStore(secrets, { useCacerts: true });
          const rotation = new RootRotation({ authority, store, clock: new FakeClock(Date.now()) });
          const result = await rotation.check().catch((error: unknown) => error);
          if (typeof result === "string") expect(isUsable(authority)).toBe(true);
          else {
            expect(result).toBeInstanceOf(CaError);
            expect((result as CaError).message.length).toBeLessThan(2000);
            expect(authority.bundle).toBe(before);
          }
        }),
        { numRuns: runs, examples: [[{ name: "cacerts", data: renewable }]] },
      );
      expect(renewals).toBeGreaterThan(0);
    },
    timeout,
  );

  it("as istio-ca-secret is not renewed with a key that is not that of its root", async () => {
    let writes = 0;
    const data = { "ca-cert.pem": aged.certificate, "ca-key.pem": other.privateKey };
    const secrets: SecretStore = {
      namespace: "istio-system",
      read: async (name) => ({ name, type: "istio.io/ca-root", version: "2", data }),
      create: async () => false,
      replace: async () => (writes++, true),
    };
    const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
    const before = authority.bundle;
    const rotation = new RootRotation({
      authority,
      store: new SecretRootStore(secrets),
      clock: new FakeClock(Date.now()),
    });
    await expect(rotation.check()).rejects.toMatchObject({ code: "key-mismatch" });
    expect([writes, authority.bundle]).toEqual([0, before]);
  });

  it(
    "as the files of a plugged-in CA gives a usable CA or a CaError, and the last good CA stays",
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "hostile-"));
      afterAll(() => rm(directory, { recursive: true, force: true }));
      const files = fc.record({
        "ca-cert.pem": texts(),
        "ca-key.pem": texts(),
        "root-cert.pem": texts(),
        "cert-chain.pem": texts(),
        "ca-crl.pem": fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: texts() }),
      });
      await fc.assert(
        fc.asyncProperty(files, async (contents) => {
          for (const [name, text] of Object.entries(contents))
            await (text === undefined
              ? rm(join(directory, name), { force: true })
              : writeFile(join(directory, name), text));
          const first = await readPluggedInCa(directory, Date.now(), { readsRevocationLists: true }).catch(
            (error: unknown) => error,
          );
          if (first instanceof Error) expect(first).toBeInstanceOf(CaError);
          const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
          const before = authority.bundle;
          const options = { directory, authority, readsRevocationLists: true, multiRoot: true };
          const result = await reload(options).catch((error: unknown) => error);
          if (result === true) expect(isUsable(authority)).toBe(true);
          else {
            if (result !== false) {
              expect(result).toBeInstanceOf(CaError);
              expect((result as CaError).message.length).toBeLessThan(5000);
            }
            // A reason why the revocation lists are not used may be new.
            expect({ ...authority.bundle, revocationProblem: undefined }).toEqual({
              ...before,
              revocationProblem: undefined,
            });
          }
        }),
        { numRuns: runs },
      );
    },
    timeout,
  );
});

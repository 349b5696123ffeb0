import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  CertificateAuthority,
  DirectoryRootStore,
  keepRoot,
  createSelfSignedRoot,
  readPluggedInCa,
  RootRotation,
  type RootStore,
  selfSignedBundle,
  watchPluggedInCa,
} from "@istiod/ca";
import { reload } from "../src/roots/watch-plugged-in-ca.js";
import { FakeClock } from "@istiod/runtime/testing";
import { MemoryRootStore } from "@istiod/ca/testing";
import { openssl, P256, request, scratch, show, verify } from "./openssl.js";

const CART = "spiffe://cluster.local/ns/shop/sa/cart";
const DAY = 24 * 3600 * 1000;
const EC = { type: "ecdsa", curve: "P-256" } as const;

describe.each<[string, () => Promise<RootStore>]>([
  ["a directory", async () => new DirectoryRootStore(join(await scratch(), "a", "ca"))],
  ["memory", async () => new MemoryRootStore()],
])("a self-signed root kept in %s", (_, make) => {
  it("creates a root once", async () => {
    const store = await make();
    const now = Date.now();
    const roots = await Promise.all(
      Array.from({ length: 4 }, () => keepRoot(store, { organization: "cluster.local", key: EC }, now)),
    );
    expect(new Set(roots.map((root) => root.certificate)).size).toBe(1);
    expect(await keepRoot(store, { organization: "other", key: EC }, now)).toEqual(roots[0]);
    const text = await show(roots[0]!.certificate);
    expect(text).toMatch(/Subject: O ?= ?cluster.local/);
    expect(text).toContain("CA:TRUE");
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign\n/);
  });

  it("replaces a root only if the stored one is known", async () => {
    const store = await make();
    const first = await keepRoot(store, { organization: "td", key: EC }, Date.now());
    const renewed = {
      ...first,
      certificate: (await createSelfSignedRoot({ organization: "td", key: EC }, Date.now())).certificate,
    };
    expect(await store.replace(first, renewed)).toBe(true);
    expect(await store.replace(first, renewed)).toBe(false);
    expect(await store.load()).toEqual(renewed);
  });
});

describe("DirectoryRootStore", () => {
  it("creates a directory that only its owner can read", async () => {
    const directory = join(await scratch(), "ca");
    await keepRoot(new DirectoryRootStore(directory), { organization: "td", key: EC }, Date.now());
    expect((await readdir(directory)).sort()).toEqual(["ca-cert.pem", "ca-key.pem"]);
    expect((await stat(join(directory, "ca-key.pem"))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  it.each(["ca-cert.pem", "ca-key.pem"])(
    "that lost %s is an error and not a reason to make another root",
    async (lost) => {
      const directory = join(await scratch(), "ca");
      const store = new DirectoryRootStore(directory);
      await keepRoot(store, { organization: "td", key: EC }, Date.now());
      await rm(join(directory, lost));
      await expect(keepRoot(store, { organization: "td", key: EC }, Date.now())).rejects.toMatchObject({
        code: "incomplete",
        message: expect.stringContaining(`${lost} is missing`),
      });
    },
  );
});

describe("RootRotation", () => {
  const lifetime = 100 * DAY;
  async function mesh() {
    const clock = new FakeClock(Date.UTC(2030, 0, 1));
    const store = new MemoryRootStore();
    const replica = async () => {
      const root = await keepRoot(store, { organization: "td", key: EC, lifetime }, clock.now());
      const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", clock.now()), clock });
      return { authority, rotation: new RootRotation({ authority, store, lifetime, clock, random: () => 0.5 }) };
    };
    return { clock, store, replica };
  }

  it("renews with the same key when a fifth of the lifetime remains, and breaks no chain", async () => {
    const { clock, replica } = await mesh();
    const { authority, rotation } = await replica();
    const before = authority.bundle;
    const { request: csr } = await request(P256);
    const old = await authority.sign({ request: csr, names: [CART], lifetime: 30 * DAY });
    expect(rotation.renewalDue(before.certificate)).toBe(clock.now() + 80 * DAY + 2 * 3600_000);
    clock.advance(80 * DAY - 1);
    expect(await rotation.check()).toBe("unchanged");
    clock.advance(1);
    const oldNow = await authority.sign({ request: csr, names: [CART] });
    expect(await rotation.check()).toBe("renewed");
    const after = authority.bundle;
    expect(after.privateKey.equals(before.privateKey)).toBe(true);
    expect(after.certificate.subject).toBe(before.certificate.subject);
    expect(after.notAfter).toBe(clock.now() + lifetime);
    const fresh = await authority.sign({ request: csr, names: [CART] });
    const at = clock.now() / 1000 + 60;
    await verify([oldNow.certificate, after.rootsPem], { at });
    await verify([fresh.certificate, before.rootsPem], { at });
    await verify([fresh.certificate, after.rootsPem], { at });
    expect(old.roots).toBe(before.rootsPem);
  });

  it("renews in one replica, and the others adopt the new root", async () => {
    const { clock, replica } = await mesh();
    const [a, b] = [await replica(), await replica()];
    clock.advance(85 * DAY);
    expect(await a.rotation.check()).toBe("renewed");
    expect(await b.rotation.check()).toBe("adopted");
    expect(b.authority.bundle.rootsPem).toBe(a.authority.bundle.rootsPem);
    expect(await b.rotation.check()).toBe("unchanged");
  });

  it("checks every hour with an initial jitter, and notifies listeners", async () => {
    const { clock, replica } = await mesh();
    const { authority, rotation } = await replica();
    let changes = 0;
    authority.onChange(() => changes++);
    const stop = rotation.start();
    expect(clock.pending).toEqual([1.5 * 3600 * 1000]);
    clock.advance(1.5 * 3600 * 1000);
    await expect.poll(() => clock.pending).toEqual([3600 * 1000]);
    clock.advance(81 * DAY);
    await expect.poll(() => changes).toBe(1);
    await expect.poll(() => clock.pending).toEqual([3600 * 1000]);
    stop();
    expect(clock.pending).toEqual([]);
  });

  it("reports a failing store and keeps the current root", async () => {
    const { clock, replica } = await mesh();
    const { authority } = await replica();
    const errors: unknown[] = [];
    const broken = new RootRotation({
      authority,
      store: new MemoryRootStore(),
      clock,
      random: () => 0,
      onError: (error) => errors.push(error),
    });
    broken.start();
    clock.advance(3600 * 1000);
    await expect.poll(() => errors).toMatchObject([{ code: "store", message: "memory: the root has disappeared" }]);
    await expect.poll(() => clock.pending).toHaveLength(1);
  });
});

/** A root, an intermediate below it, and the four files, made by openssl. */
async function pluggedIn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const at = (name: string): string => join(directory, name);
  await openssl(
    "req",
    "-x509",
    "-new",
    "-nodes",
    "-newkey",
    ...P256,
    "-keyout",
    at("root-key"),
    "-out",
    at("root-cert.pem"),
    "-subj",
    "/O=Acme/CN=Root",
    "-days",
    "30",
    "-addext",
    "keyUsage=critical,keyCertSign",
  );
  await intermediate(directory);
}

async function intermediate(
  directory: string,
  extensions = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign",
): Promise<void> {
  const at = (name: string): string => join(directory, name);
  await writeFile(at("ext"), extensions);
  await openssl(
    "req",
    "-new",
    "-nodes",
    "-newkey",
    ...P256,
    "-keyout",
    at("ca-key.pem"),
    "-out",
    at("csr"),
    "-subj",
    "/O=Acme/CN=Mesh",
  );
  await openssl(
    "x509",
    "-req",
    "-in",
    at("csr"),
    "-CA",
    at("root-cert.pem"),
    "-CAkey",
    at("root-key"),
    "-CAcreateserial",
    "-out",
    at("ca-cert.pem"),
    "-days",
    "20",
    "-extfile",
    at("ext"),
  );
  await writeFile(
    at("cert-chain.pem"),
    (await readFile(at("ca-cert.pem"), "utf8")) + (await readFile(at("root-cert.pem"), "utf8")),
  );
}

describe("a plugged-in CA", () => {
  it("signs with an intermediate whose chain is verified by openssl", async () => {
    const directory = await scratch();
    await pluggedIn(directory);
    const bundle = (await readPluggedInCa(directory, Date.now()))!;
    const ca = new CertificateAuthority({ bundle });
    const issued = await ca.sign({ request: (await request(P256)).request, names: [CART] });
    await verify([issued.certificate, ...issued.chain, issued.roots]);
    expect(issued.chain).toHaveLength(2);
    expect(issued.roots.trim()).toBe((await readFile(join(directory, "root-cert.pem"), "utf8")).trim());
  });

  it("may come from a Secret of type kubernetes.io/tls", async () => {
    const directory = await scratch();
    await pluggedIn(directory);
    for (const [from, to] of [
      ["ca-cert.pem", "tls.crt"],
      ["ca-key.pem", "tls.key"],
      ["root-cert.pem", "ca.crt"],
    ] as const)
      await rename(join(directory, from), join(directory, to));
    await rm(join(directory, "cert-chain.pem"));
    const ca = new CertificateAuthority({ bundle: (await readPluggedInCa(directory, Date.now()))! });
    const issued = await ca.sign({ request: (await request(P256)).request, names: [CART] });
    expect(issued.chain).toHaveLength(1);
    await verify([issued.certificate, ...issued.chain, issued.roots]);
    await rm(join(directory, "ca.crt"));
    await expect(readPluggedInCa(directory, Date.now())).rejects.toMatchObject({
      code: "incomplete",
      message: expect.stringContaining("ca.crt missing"),
    });
  });

  it("is absent if none of its files exists", async () => {
    const directory = await scratch();
    expect(await readPluggedInCa(directory, Date.now())).toBeUndefined();
    expect(await readPluggedInCa(join(directory, "none"), Date.now())).toBeUndefined();
  });

  it.each(["ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem"])(
    "without %s is refused by that name",
    async (missing) => {
      const directory = await scratch();
      await pluggedIn(directory);
      await rm(join(directory, missing));
      await expect(readPluggedInCa(directory, Date.now())).rejects.toMatchObject({
        code: "incomplete",
        message: expect.stringContaining(`: ${missing} missing although`),
      });
    },
  );

  it.each<[string, string, string, (directory: string) => Promise<unknown>]>([
    [
      "a key of another certificate",
      "key-mismatch",
      "does not belong",
      (d) =>
        openssl(
          "genpkey",
          "-algorithm",
          "EC",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-out",
          join(d, "ca-key.pem"),
        ),
    ],
    [
      "a root of somebody else",
      "untrusted",
      "does not lead to a root",
      (d) =>
        openssl(
          "req",
          "-x509",
          "-new",
          "-nodes",
          "-newkey",
          ...P256,
          "-keyout",
          join(d, "x"),
          "-out",
          join(d, "root-cert.pem"),
          "-subj",
          "/CN=Other",
        ),
    ],
    [
      "a certificate that may not sign",
      "untrusted",
      "is not a CA certificate",
      (d) => intermediate(d, "basicConstraints=critical,CA:FALSE"),
    ],
    [
      "an encrypted key",
      "malformed",
      "private key",
      (d) =>
        openssl(
          "genpkey",
          "-algorithm",
          "EC",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-aes256",
          "-pass",
          "pass:secret",
          "-out",
          join(d, "ca-key.pem"),
        ),
    ],
    [
      "no PEM",
      "malformed",
      'cert-chain.pem: no PEM block "CERTIFICATE" found',
      (d) => writeFile(join(d, "cert-chain.pem"), "hello"),
    ],
    [
      "a broken PEM",
      "malformed",
      "cannot be read",
      (d) => writeFile(join(d, "ca-cert.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ],
  ])("with %s is refused", async (_, code, words, spoil) => {
    const directory = await scratch();
    await pluggedIn(directory);
    await spoil(directory);
    await expect(readPluggedInCa(directory, Date.now())).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  });

  it("is rejected if it has expired", async () => {
    const directory = await scratch();
    await pluggedIn(directory);
    await expect(readPluggedInCa(directory, Date.now() + 21 * DAY)).rejects.toMatchObject({
      code: "untrusted",
      message: expect.stringContaining("expired at"),
    });
  });

  it("is reloaded after changes, and the last good one stays active if files are invalid", async () => {
    const directory = await scratch();
    await pluggedIn(directory);
    const authority = new CertificateAuthority({ bundle: (await readPluggedInCa(directory, Date.now()))! });
    const events: string[] = [];
    const stop = watchPluggedInCa({
      directory,
      authority,
      debounce: 20,
      onReload: () => events.push("reload"),
      onError: (error) => events.push(error.code),
    });
    const first = authority.certificate;
    await writeFile(join(directory, "ca-key.pem"), "half");
    await expect.poll(() => events.at(-1)).toBe("malformed");
    expect(authority.certificate).toBe(first);
    await intermediate(directory);
    await expect.poll(() => events.at(-1)).toBe("reload");
    expect(authority.certificate).not.toBe(first);
    const issued = await authority.sign({ request: (await request(P256)).request, names: [CART] });
    await verify([issued.certificate, ...issued.chain, issued.roots]);
    stop();
  });

  it("is reloaded after the symbolic links of a Secret volume are swapped", async () => {
    const directory = await scratch();
    const volume = join(directory, "volume");
    await pluggedIn(join(volume, "..v1"));
    await symlink("..v1", join(volume, "..data"));
    for (const name of ["ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem"])
      await symlink(`..data/${name}`, join(volume, name));
    const authority = new CertificateAuthority({ bundle: (await readPluggedInCa(volume, Date.now()))! });
    const first = authority.certificate;
    const stop = watchPluggedInCa({ directory: volume, authority, debounce: 20 });
    await mkdir(join(volume, "..v2"));
    for (const name of ["root-cert.pem", "root-key"])
      await writeFile(join(volume, "..v2", name), await readFile(join(volume, "..v1", name)));
    await intermediate(join(volume, "..v2"));
    await symlink("..v2", join(volume, "..tmp"));
    await rename(join(volume, "..tmp"), join(volume, "..data"));
    await expect.poll(() => authority.certificate).not.toBe(first);
    stop();
  });

  it("keeps its root unless several are allowed, and then only if one set contains the other", async () => {
    const directory = await scratch();
    await pluggedIn(directory);
    const authority = new CertificateAuthority({ bundle: (await readPluggedInCa(directory, Date.now()))! });
    const old = await readFile(join(directory, "root-cert.pem"), "utf8");
    const other = (await createSelfSignedRoot({ organization: "Other", key: EC }, Date.now())).certificate;
    await writeFile(join(directory, "root-cert.pem"), old + other);
    await expect(reload({ directory, authority })).rejects.toMatchObject({ code: "root-change" });
    expect(await reload({ directory, authority, multiRoot: true })).toBe(true);
    expect(authority.bundle.roots).toHaveLength(2);
    const issued = await authority.sign({ request: (await request(P256)).request, names: [CART] });
    expect(issued.roots.match(/BEGIN/g)).toHaveLength(2);
    expect(issued.roots.endsWith("-----END CERTIFICATE-----\n")).toBe(true);
    await pluggedIn(directory);
    await expect(reload({ directory, authority, multiRoot: true })).rejects.toMatchObject({ code: "root-change" });
  });
});

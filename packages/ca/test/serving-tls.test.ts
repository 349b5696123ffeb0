import { copyFile, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer, connect, type TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type CaError,
  CertificateAuthority,
  keepServingTls,
  type KeepServingTlsOptions,
  type KeptServingTls,
  createSelfSignedRoot,
  readRootsFile,
  readServingFiles,
  selfSignedBundle,
  type ServingTls,
} from "@istiod/ca";
import { openssl, scratch } from "./openssl.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Writes a self-signed certificate and its key. */
async function writePair(directory: string, commonName: string, ...more: string[]): Promise<void> {
  const [cert, key] = [join(directory, "tls.crt.new"), join(directory, "tls.key.new")];
  await openssl(
    "req",
    "-x509",
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-keyout",
    key,
    "-out",
    cert,
    "-subj",
    `/CN=${commonName}`,
    "-days",
    "10",
    ...more,
  );
  await rename(key, join(directory, "tls.key"));
  await rename(cert, join(directory, "tls.crt"));
}

async function authorityOf(organization: string): Promise<CertificateAuthority> {
  const root = await createSelfSignedRoot({ organization, key: { type: "ecdsa", curve: "P-256" } }, Date.now());
  return new CertificateAuthority({ bundle: selfSignedBundle(root, "memory", Date.now()) });
}

/** A TLS server that shows what is kept. */
async function serve(options: Pick<KeepServingTlsOptions, "authority" | "files" | "roots">) {
  const events: string[] = [];
  const server = createServer({ requestCert: true, rejectUnauthorized: false }, (socket) =>
    socket.on("error", () => undefined).pipe(socket),
  );
  const context = ({ cert, key, clientCa }: ServingTls): void => server.setSecureContext({ cert, key, ca: clientCa });
  const kept: KeptServingTls = await keepServingTls({
    trustDomain: "cluster.local",
    names: ["istiod.istio-system.svc"],
    debounce: 20,
    onReload: (files) => events.push(`reloaded ${files.join(" ")}`),
    onError: (error: CaError) => events.push(`${error.code}: ${error.message}`),
    ...options,
  });
  context(kept.current());
  kept.onChange(context);
  ends.push(() => kept.stop());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, events, kept };
}

async function open(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  ends.push(() => socket.destroy());
  await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  return socket;
}

async function shown(port: number): Promise<unknown> {
  const socket = await open(port);
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

async function echo(socket: TLSSocket, text: string): Promise<string> {
  const answer = new Promise<string>((resolve, reject) =>
    socket.once("data", (data: Buffer) => resolve(data.toString())).once("error", reject),
  );
  socket.write(text);
  return answer;
}

describe("a serving certificate from files", () => {
  let directory: string;
  let files: { readonly certFile: string; readonly keyFile: string };
  let authority: CertificateAuthority;
  beforeEach(async () => {
    directory = await scratch();
    files = { certFile: join(directory, "tls.crt"), keyFile: join(directory, "tls.key") };
    authority = await authorityOf("mesh");
    await writePair(directory, "first");
  });

  it("is used for new connections after a renewal, and old connections stay open", async () => {
    const { port, events } = await serve({ authority, files });
    const old = await open(port);
    expect(old.getPeerCertificate().subject.CN).toBe("first");
    await writePair(directory, "second");
    await expect.poll(() => shown(port), { timeout: 10_000 }).toBe("second");
    expect(await echo(old, "still here")).toBe("still here");
    expect(events.at(-1)).toBe(`reloaded ${files.certFile} ${files.keyFile}`);
  });

  it("stays active if the new one is invalid, which is reported once with the file's name", async () => {
    const { port, events } = await serve({ authority, files });
    await writeFile(files.certFile, "not a certificate");
    await expect
      .poll(() => events, { timeout: 10_000 })
      .toEqual([`malformed: ${files.certFile}: no PEM block "CERTIFICATE" found`]);
    await writeFile(files.certFile, "not a certificate either");
    await writeFile(join(directory, "another"), "");
    expect(await shown(port)).toBe("first");
    await writePair(directory, "second");
    await expect.poll(() => shown(port), { timeout: 10_000 }).toBe("second");
    expect(events.filter((event) => event.startsWith("malformed: "))).toHaveLength(1);
  });

  it("stays active while the key belongs to another certificate", async () => {
    const { port, events } = await serve({ authority, files });
    await mkdir(join(directory, "next"));
    await writePair(join(directory, "next"), "second");
    await copyFile(join(directory, "next/tls.crt"), files.certFile);
    await expect
      .poll(() => events, { timeout: 10_000 })
      .toEqual([`key-mismatch: ${files.keyFile}: the key does not belong to the certificate in ${files.certFile}`]);
    expect(await shown(port)).toBe("first");
    await copyFile(join(directory, "next/tls.key"), files.keyFile);
    await expect.poll(() => shown(port), { timeout: 10_000 }).toBe("second");
  });

  it("stays active while the files are missing, and is reloaded once they exist", async () => {
    const { port, events } = await serve({ authority, files });
    await rename(directory, `${directory}.away`);
    ends.push(() => rm(`${directory}.away`, { recursive: true, force: true }));
    await expect.poll(() => events[0], { timeout: 10_000 }).toMatch(/^store: .*tls\.(crt|key) cannot be read: ENOENT/);
    expect(await shown(port)).toBe("first");
    await writePair(`${directory}.away`, "second");
    await rename(`${directory}.away`, directory);
    await expect.poll(() => shown(port), { timeout: 10_000 }).toBe("second");
  });

  it("is reloaded after the symbolic links of a Secret volume are swapped", async () => {
    const volume = join(directory, "volume");
    await mkdir(join(volume, "..v1"), { recursive: true });
    await mkdir(join(volume, "..v2"));
    await writePair(join(volume, "..v1"), "first");
    await writePair(join(volume, "..v2"), "second");
    await symlink("..v1", join(volume, "..data"));
    for (const name of ["tls.crt", "tls.key"]) await symlink(`..data/${name}`, join(volume, name));
    const { port } = await serve({
      authority,
      files: { certFile: join(volume, "tls.crt"), keyFile: join(volume, "tls.key") },
    });
    expect(await shown(port)).toBe("first");
    await symlink("..v2", join(volume, "..tmp"));
    await rename(join(volume, "..tmp"), join(volume, "..data"));
    await expect.poll(() => shown(port), { timeout: 10_000 }).toBe("second");
  });

  it("is an error at startup if it is invalid", async () => {
    await expect(readServingFiles({ ...files, certFile: join(directory, "absent") }, Date.now())).rejects.toMatchObject(
      { code: "store", message: expect.stringContaining("absent cannot be read") as string },
    );
    await expect(readServingFiles({ ...files, keyFile: files.certFile }, Date.now())).rejects.toMatchObject({
      code: "malformed",
    });
    await expect(readServingFiles(files, Date.now() + 11 * 24 * 3600 * 1000)).rejects.toMatchObject({
      code: "untrusted",
      message: expect.stringMatching(/tls\.crt: the certificate expired at /) as string,
    });
    await expect(readRootsFile(files.keyFile)).rejects.toMatchObject({ code: "malformed" });
  });
});

describe("client root certificates", () => {
  const rootsIn = ({ clientCa }: ServingTls): number => clientCa.match(/BEGIN CERTIFICATE/g)?.length ?? 0;

  it("are reloaded from their file, and the last good ones stay active", async () => {
    const directory = await scratch();
    const rootsFile = join(directory, "roots.pem");
    const [authority, second, third] = await Promise.all([
      authorityOf("mesh"),
      authorityOf("second"),
      authorityOf("third"),
    ]);
    await writeFile(rootsFile, second.bundle.rootsPem);
    const roots = { file: rootsFile, trustDomain: "other.example" };
    const { kept, events } = await serve({ authority, roots });
    expect(kept.current().trustBundles.map(({ trustDomain, roots: { length } }) => [trustDomain, length])).toEqual([
      ["cluster.local", 1],
      ["other.example", 1],
    ]);
    expect(kept.current().clientCa).toBe(authority.bundle.rootsPem + second.bundle.rootsPem);
    await writeFile(rootsFile, second.bundle.rootsPem + third.bundle.rootsPem);
    await expect.poll(() => rootsIn(kept.current()), { timeout: 10_000 }).toBe(3);
    await writeFile(rootsFile, "");
    await expect
      .poll(() => events.at(-1), { timeout: 10_000 })
      .toBe(`malformed: ${rootsFile}: no PEM block "CERTIFICATE" found`);
    expect(rootsIn(kept.current())).toBe(3);
  });

  it("include the authority's", async () => {
    const directory = await scratch();
    await writePair(directory, "first");
    const [authority, next] = await Promise.all([authorityOf("mesh"), authorityOf("next")]);
    const seen: string[] = [];
    const kept = await keepServingTls({
      authority,
      trustDomain: "cluster.local",
      names: [],
      files: { certFile: join(directory, "tls.crt"), keyFile: join(directory, "tls.key") },
    });
    kept.onChange(({ clientCa }) => seen.push(clientCa));
    ends.push(() => kept.stop());
    authority.use(next.bundle);
    expect(seen).toEqual([next.bundle.rootsPem]);
    expect(kept.current().clientCa).toBe(next.bundle.rootsPem);
  });
});

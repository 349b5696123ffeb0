import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { mint, type Minted, mintRevocationList } from "@istiod/ca/testing";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { beforeAll, describe, expect, it } from "vitest";
import type { Secret } from "../src/certificates/secret.js";
import { TrustAnchors, trustAnchorsIn } from "../src/certificates/trust-anchors.js";
import { watchTrustedRoots } from "../src/certificates/trusted-roots.js";
import type { Log } from "../src/log.js";
import { silentLog } from "../src/log.js";
import { scratch } from "./fakes.js";

let first: Minted;
let second: Minted;
beforeAll(async () => {
  first = await mint({ ca: true, subject: "CN=first" });
  second = await mint({ ca: true, subject: "CN=second" });
});

/** Replaces the content of a file as Kubernetes does in a volume: by another target of a symbolic link. */
async function swap(file: string, content: string | undefined): Promise<void> {
  const volume = dirname(file);
  const version = await mkdtemp(join(volume, "..v"));
  if (content !== undefined) await writeFile(join(version, basename(file)), content);
  await symlink(basename(version), join(volume, "..tmp"));
  await rename(join(volume, "..tmp"), join(volume, "..data"));
  await symlink(join("..data", basename(file)), file).catch(() => undefined);
}

type Roots = Extract<Secret, { kind: "roots" }>;

/** Watches the roots of an authority with the anchors of istiod and a file of revocation lists. */
function watching(options: { readonly anchors?: TrustAnchors; readonly file?: string } = {}) {
  const served: Roots[] = [];
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (...args: readonly unknown[]) => void warnings.push(String(args.at(-1))) };
  const stop = watchTrustedRoots(
    (listener) => {
      listener({ kind: "roots", roots: first.pem });
      return () => undefined;
    },
    {
      quiet: 10,
      log,
      ...(options.anchors && { anchors: options.anchors }),
      ...(options.file !== undefined && { revocationLists: options.file }),
    },
    (secret) => {
      if (secret.kind === "roots") served.push(secret);
    },
  );
  return { served, warnings, stop };
}

describe("the roots that Envoy verifies peers against", () => {
  it("are those of the authority with those that istiod adds, each once", () => {
    const anchors = new TrustAnchors();
    const { served, stop } = watching({ anchors });
    expect(served).toEqual([{ kind: "roots", roots: first.pem }]);
    const add = (...roots: readonly Minted[]): void =>
      anchors.set(
        trustAnchorsIn(
          anyPack(ProxyConfigSchema, create(ProxyConfigSchema, { caCertificatesPem: roots.map((r) => r.pem) })),
        ),
      );
    add(first);
    expect(served).toHaveLength(1);
    add(first, second);
    expect(served.at(-1)?.roots.replaceAll(/\s/g, "")).toBe((first.pem + second.pem).replaceAll(/\s/g, ""));
    add(first);
    expect(served.at(-1)).toEqual({ kind: "roots", roots: first.pem });
    stop();
  });

  it("are rejected if istiod sends something else than CA certificates", async () => {
    const leaf = await mint({ subject: "CN=leaf", issuer: first });
    for (const [pem, reason] of [
      [leaf.pem, "is not a CA certificate"],
      ["nonsense", "proxy configuration: caCertificatesPem[1]: "],
    ] as const)
      expect(() =>
        trustAnchorsIn(anyPack(ProxyConfigSchema, create(ProxyConfigSchema, { caCertificatesPem: [first.pem, pem] }))),
      ).toThrow(reason);
  });

  it("come with the revocation lists from the start, and keep them if the file is invalid", async () => {
    const directory = join(await scratch(), "crl");
    const file = join(directory, "ca-crl.pem");
    await mkdir(directory);
    const [list, longer] = [await mintRevocationList(first), await mintRevocationList(first, { revoked: ["1234"] })];
    await writeFile(file, list);
    const { served, warnings, stop } = watching({ file });
    await expect.poll(() => served).toEqual([{ kind: "roots", roots: first.pem, revocationLists: list }]);
    await writeFile(file, longer);
    await expect.poll(() => served.at(-1)?.revocationLists).toBe(longer);
    await writeFile(file, "half");
    await expect.poll(() => warnings.at(-1)).toMatch(/has no PEM block "X509 CRL", keeping the last good/);
    expect(served).toHaveLength(2);
    stop();
  });

  it.each<[string, (file: string) => Promise<unknown>]>([
    ["removed", (file) => rm(file)],
    ["emptied", (file) => writeFile(file, "")],
    ["swapped with a volume that lacks it", (file) => swap(file, undefined)],
    ["swapped with a volume in which it is blank", (file) => swap(file, "\n")],
  ])("have no revocation lists any more after the file is %s", async (_, clear) => {
    const directory = join(await scratch(), "crl");
    const file = join(directory, "ca-crl.pem");
    await mkdir(directory);
    const list = await mintRevocationList(first, { revoked: ["1234"] });
    await swap(file, list);
    const { served, stop } = watching({ file });
    await expect.poll(() => served).toEqual([{ kind: "roots", roots: first.pem, revocationLists: list }]);
    await clear(file);
    await expect.poll(() => served.at(-1)).toEqual({ kind: "roots", roots: first.pem });
    await swap(file, list);
    await expect.poll(() => served.at(-1)).toEqual({ kind: "roots", roots: first.pem, revocationLists: list });
    stop();
  });

  it("are not served without revocation lists that cannot be read", async () => {
    const directory = await scratch();
    const file = join(directory, "ca-crl.pem");
    await writeFile(file, "half");
    const { served, warnings, stop } = watching({ file });
    await expect.poll(() => warnings.at(-1)).toMatch(/so that roots cannot be served$/);
    expect(served).toEqual([]);
    const list = await mintRevocationList(first);
    await writeFile(file, list);
    await expect.poll(() => served).toEqual([{ kind: "roots", roots: first.pem, revocationLists: list }]);
    stop();
  });
});

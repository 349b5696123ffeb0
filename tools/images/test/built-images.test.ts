import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { buildImages, ROOT } from "../src/build-images.js";
import { IMAGES } from "../src/images.js";
import { type Architecture, ARCHITECTURES } from "../src/lock.js";
import { blobPath, type Descriptor } from "../src/oci/layout.js";

const output = join(ROOT, "build/images");
const directories: string[] = [];
afterAll(() => directories.forEach((directory) => rmSync(directory, { recursive: true, force: true })));

const json = <T>(file: string): T => JSON.parse(readFileSync(file, "utf8")) as T;

interface Image {
  readonly architecture: Architecture;
  readonly config: {
    readonly config: {
      readonly User: string;
      readonly Entrypoint: readonly string[];
      readonly Labels: Readonly<Record<string, string>>;
    };
    readonly rootfs: { readonly diff_ids: readonly string[] };
  };
  /** Paths of the layers' blobs. */
  readonly layers: readonly string[];
}

/** Reads a layout as a container runtime does, from its index down. */
function readImages(name: string): readonly Image[] {
  const layout = join(output, name);
  const at = ({ digest }: Descriptor): string => join(layout, blobPath(digest));
  const [tagged] = json<{ manifests: Descriptor[] }>(join(layout, "index.json")).manifests;
  const { manifests } = json<{ manifests: Descriptor[] }>(at(tagged!));
  return manifests.map((descriptor) => {
    const { config, layers } = json<{ config: Descriptor; layers: Descriptor[] }>(at(descriptor));
    const architecture = descriptor.platform?.architecture as Architecture;
    return { architecture, config: json(at(config)), layers: layers.map(at) };
  });
}

const unavailable = Object.keys(IMAGES).every((name) => existsSync(join(output, name, "index.json")))
  ? undefined
  : "there are no images: npm run images";
const images = unavailable
  ? []
  : Object.keys(IMAGES).flatMap((name) => readImages(name).map((image) => ({ name, ...image })));

test("there are images", (context) => {
  context.skip(unavailable !== undefined, unavailable);
  expect(new Set(images.map(({ name }) => name))).toEqual(new Set(Object.keys(IMAGES)));
});

describe.each(images)("$name for $architecture", ({ name, architecture, config, layers }) => {
  const root = mkdtempSync(join(tmpdir(), `image-${name}-`));
  directories.push(root);
  for (const layer of layers) execFileSync("tar", ["-xzf", layer, "-C", root]);
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" });

  test("all files belong to root, and none has the set-user-ID or set-group-ID bit or can be changed by others", () => {
    for (const layer of layers) {
      const lines = execFileSync("tar", ["--numeric-owner", "-tvzf", layer], { encoding: "utf8" })
        .trimEnd()
        .split("\n");
      for (const line of lines) expect(line).toMatch(/^(l\S+|[-d]rw[-x]r-[-x]r-[-x]|drwxrwxrwt) 0\/0 .*/);
      const open = lines.filter((line) => line.startsWith("drwxrwxrwt")).map((line) => line.split(" ").at(-1));
      expect(open.filter((path) => path !== "tmp/" && path !== "var/tmp/")).toEqual([]);
    }
  });

  test("there is no shell, no package manager, and only the programs that are needed", () => {
    const programs = paths.filter((path) => /^usr\/(local\/)?s?bin\//.test(path)).toSorted();
    const redirecting = ["ip6tables", "iptables"].flatMap((family) =>
      ["", "-legacy", "-nft"].flatMap((kind) => ["", "-restore", "-save"].map((suffix) => `${family}${kind}${suffix}`)),
    );
    const expected = {
      pilot: ["usr/local/bin/istiod", "usr/local/bin/node", "usr/local/bin/pilot-discovery"],
      proxyv2: [
        "usr/bin/ip",
        "usr/bin/mkfifo",
        ...["envoy", "node", "pilot-agent"].map((program) => `usr/local/bin/${program}`),
        ...[...redirecting, "nft", "xtables-legacy-multi", "xtables-nft-multi"].map((each) => `usr/sbin/${each}`),
      ],
    }[name];
    expect(programs).toEqual(expected?.toSorted());
  });

  test("all libraries that programs are linked with are there", (context) => {
    context.skip(spawnSync("readelf", ["--version"]).error !== undefined, "there is no readelf");
    const files = paths.map((path) => join(root, path)).filter((path) => lstatSync(path).isFile());
    const isElf = (file: string): boolean => readFileSync(file).subarray(0, 4).equals(Buffer.from("\x7fELF"));
    const found = new Set(
      paths.filter((path) => path.includes(".so")).map((path) => path.slice(path.lastIndexOf("/") + 1)),
    );
    const missing = files.filter(isElf).flatMap((file) => {
      const dynamic = execFileSync("readelf", ["--wide", "--dynamic", "--use-dynamic", file], { encoding: "utf8" });
      return [...dynamic.matchAll(/NEEDED\)? .*?\[?(lib[^\]\s]+|ld-linux[^\]\s]+)\]?$/gm)].map(
        ([, library = ""]) => library,
      );
    });
    expect(missing.length).toBeGreaterThan(5);
    expect([...new Set(missing)].filter((library) => !found.has(library))).toEqual([]);
  });

  test("it runs as a user of its own, says what it is, and starts a program that is there", () => {
    const { User, Entrypoint, Labels } = config.config;
    expect(User).toBe("1337:1337");
    const label = (key: string): string | undefined => Labels[`org.opencontainers.image.${key}`];
    expect(label("version")).toBe(json<{ version: string }>(join(ROOT, "apps/istiod/package.json")).version);
    expect(label("licenses")).toBe("Apache-2.0");
    expect(label("created")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(label("source")).toMatch(/^https:/);
    const target = join(root, execFileSync("readlink", [join(root, Entrypoint[0] ?? "")], { encoding: "utf8" }).trim());
    expect(lstatSync(target).mode & 0o111).toBe(0o111);
    const [, interpreter = ""] = /^#!(\S+)\n/.exec(readFileSync(target, "utf8")) ?? [];
    expect(existsSync(join(root, interpreter)), interpreter).toBe(true);
  });

  test("the bill of materials has a licence and a digest of each part, whose terms are in the image", () => {
    interface Component {
      readonly name: string;
      readonly purl: string;
      readonly licenses: readonly object[];
      readonly hashes: readonly object[];
    }
    const bill = readFileSync(join(output, `${name}-${architecture}.cdx.json`), "utf8");
    expect(readFileSync(join(root, `usr/share/sbom/${name}.cdx.json`), "utf8")).toBe(bill);
    const { components } = JSON.parse(bill) as { components: readonly Component[] };
    for (const { purl, licenses, hashes } of components)
      expect([licenses.length, hashes.length], purl).toEqual(
        [1, 1].map(() => expect.toSatisfy((count: number) => count > 0)),
      );
    const names = new Set(components.map((each) => each.name));
    for (const part of [
      "libc6",
      "ca-certificates",
      "node",
      ...(name === "pilot" ? ["@kubernetes/client-node", "pino"] : ["envoy", "iptables", "nftables", "yaml"]),
    ])
      expect(names, part).toContain(part);
    const notices = readFileSync(
      join(root, `usr/share/doc/${name === "pilot" ? "istiod" : "pilot-agent"}/third-party-notices.txt`),
      "utf8",
    );
    for (const component of components) {
      if (component.purl.startsWith("pkg:npm/") && component.name !== "node")
        expect(notices).toContain(`${component.name} `);
      else expect(existsSync(join(root, `usr/share/doc/${component.name}/copyright`)), component.name).toBe(true);
    }
  });
});

interface Provenance {
  readonly subject: readonly { readonly digest: { readonly sha256: string } }[];
  readonly predicate: {
    readonly buildDefinition: { readonly resolvedDependencies: readonly { readonly uri: string }[] };
  };
}

test("the provenance names the images by digest, the commit, and each package and program", (context) => {
  context.skip(unavailable !== undefined, unavailable);
  for (const name of Object.keys(IMAGES)) {
    const { subject, predicate } = json<Provenance>(join(output, `${name}.intoto.json`));
    const [tagged] = json<{ manifests: Descriptor[] }>(join(output, name, "index.json")).manifests;
    expect(`sha256:${subject[0]?.digest.sha256}`).toBe(tagged?.digest);
    const uris = predicate.buildDefinition.resolvedDependencies.map(({ uri }) => uri);
    expect(uris[0]).toMatch(/^git\+https:/);
    for (const part of ["pkg:deb/debian/libc6@", "pkg:npm/node-linux-"]) expect(uris.join("\n")).toContain(part);
  }
});

test("two builds have the same digests", { timeout: 300_000 }, async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const architectures = ARCHITECTURES.filter((each) => each === images[0]?.architecture);
  const build = async () => {
    const directory = mkdtempSync(join(tmpdir(), "images-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const results = await buildImages({ architectures, output: directory, hub: "istiod" });
    return results.map(({ image, digest }) => [image, digest]);
  };
  const first = await build();
  expect(first.map(([, digest]) => digest)).toEqual(first.map(() => expect.stringMatching(/^sha256:[0-9a-f]{64}$/)));
  expect(await build()).toEqual(first);
});

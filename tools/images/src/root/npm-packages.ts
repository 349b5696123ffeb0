import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A package of the npm registry whose code is part of a bundle. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Integrity of `package-lock.json`, such as `sha512-…`. */
  readonly integrity: string;
  /** Texts of its licence and notices. */
  readonly terms: string;
}

interface PackageLock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

/**
 * Returns the npm packages of the files that esbuild has bundled, sorted by name, without those of this repository.
 *
 * @param inputs paths relative to the repository's root, such as `node_modules/yaml/dist/index.js`
 * @throws Error if the lock file does not have a package
 */
export async function npmPackagesOf(inputs: Iterable<string>, root: string): Promise<readonly NpmPackage[]> {
  const folders = new Set<string>();
  for (const input of inputs) {
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as PackageLock;
  const found = new Map<string, NpmPackage>();
  for (const folder of folders) {
    const { name, version, license } = await manifestOf(join(root, folder));
    const integrity = packages[folder]?.integrity;
    if (integrity === undefined || packages[folder]?.version !== version)
      throw new Error(`package-lock.json has no integrity of ${folder} in version ${version}: npm ci`);
    const terms = await termsOf(join(root, folder));
    found.set(`${name}@${version}`, { name, version, licence: license, integrity, terms });
  }
  return [...found.values()].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));
}

async function manifestOf(folder: string) {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license: string;
  };
}

async function termsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.map((text) => `${text.trim()}\n`).join("\n");
}

/** Returns the notices that a bundle must be distributed with. */
export function noticesOf(packages: readonly NpmPackage[]): string {
  const parts = packages.map(
    ({ name, version, licence, terms }) => `${name} ${version}\nLicence: ${licence}\n\n${terms}`,
  );
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

/** Makes the paths of esbuild's metadata relative to the root. @param folder the working directory of esbuild */
export function inputsOf(metadata: { readonly inputs: object }, folder: string): readonly string[] {
  return Object.keys(metadata.inputs).map((path) => join(folder, path));
}

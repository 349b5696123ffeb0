import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Architecture, Lock, LockedDebianPackage } from "../lock.js";
import { aptGet } from "./apt.js";
import { CACHE, cached, downloadAll, into, isCached, isThere } from "./cache.js";
import { run } from "./run.js";

/** An unpacked package. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** Folder with its files. */
  readonly files: string;
  /** Its control file, such as `Package: libc6\n…`. */
  readonly control: string;
}

/**
 * Downloads and unpacks Debian packages of the lock.
 *
 * @throws Error that names the package, for example because Debian has replaced its version by a newer one
 */
export async function debianPackages(
  names: readonly string[],
  architecture: Architecture,
  { debian }: Lock,
): Promise<readonly DebianPackage[]> {
  const locked = names.map((name) => {
    const found = debian[architecture][name];
    if (found === undefined) throw new Error(`lock.json: debian.${architecture} has no ${name}`);
    return { name, ...found };
  });
  await downloadMissing(locked, architecture, debian.release);
  return await Promise.all(
    locked.map(async (each) => {
      const archive = await cached(`${each.name} ${each.version}`, each);
      const files = await unpacked(each.sha256, archive);
      return { ...each, files, control: await run("dpkg-deb", ["--field", archive]) };
    }),
  );
}

type NamedPackage = LockedDebianPackage & { readonly name: string };

/** Downloads what is not in the cache, at once, because apt reads its lists of packages for seconds. */
async function downloadMissing(packages: readonly NamedPackage[], architecture: Architecture, release: string) {
  const missing: NamedPackage[] = [];
  for (const each of packages) if (!(await isCached(each))) missing.push(each);
  if (missing.length === 0) return;
  const specifiers = missing.map(({ name, version }) => `${name}=${version}`);
  await downloadAll((folder) => aptGet(architecture, ["download", ...specifiers], folder)).catch((error: unknown) => {
    const reason = `packages of ${release} for ${architecture} cannot be downloaded: ${(error as Error).message}`;
    throw new Error(`${reason}; \`npm run images:lock\` takes the current versions`, { cause: error });
  });
}

async function unpacked(sha256: string, archive: string): Promise<string> {
  const path = join(CACHE, "unpacked", sha256);
  if (!(await isThere(path)))
    await into(path, async (folder) => {
      await run("dpkg-deb", ["--extract", archive, join(folder, "files")]);
      return "files";
    });
  return path;
}

/** Returns the current version and digest of packages. */
export async function currentPackages(
  names: readonly string[],
  architecture: Architecture,
): Promise<Record<string, LockedDebianPackage>> {
  const output = await aptGet(architecture, ["download", "--print-uris", ...names], CACHE);
  const lines = output.matchAll(/^'[^']*' (\S+?)_(\S+)_\w+\.deb \d+ SHA256:([0-9a-f]{64})$/gm);
  const found = [...lines].map(([, name = "", version = "", sha256 = ""]) => [
    name,
    { version: decodeURIComponent(version), sha256 },
  ]);
  return Object.fromEntries(found.toSorted()) as Record<string, LockedDebianPackage>;
}

/** Returns the paths of all files, links and folders of a package, relative to its root. */
export async function pathsOf({ files }: DebianPackage): Promise<readonly string[]> {
  return (await readdir(files, { recursive: true })).toSorted();
}

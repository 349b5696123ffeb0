// Packs workspace projects as `npm publish` does.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {Readonly<Record<string, string>>} [dependencies]
 */

/**
 * Returns the manifests of the projects that are published, by name.
 *
 * @returns {ReadonlyMap<string, Manifest>}
 */
export function publishedManifests() {
  const manifests = ["packages", "apps"]
    .flatMap((group) => readdirSync(join(root, group)).map((name) => join(root, group, name, "package.json")))
    .filter(existsSync)
    .map((path) => JSON.parse(readFileSync(path, "utf8")))
    .filter((manifest) => manifest.private !== true);
  return new Map(manifests.map((manifest) => [manifest.name, manifest]));
}

/**
 * Packs built projects into a directory.
 *
 * @param {readonly string[]} names
 * @param {string} directory
 * @returns {Promise<ReadonlyMap<string, string>>} the path of each tarball by the project's name
 */
export async function pack(names, directory) {
  const workspaces = names.flatMap((name) => ["--workspace", name]);
  const args = ["pack", "--json", "--silent", "--pack-destination", directory, ...workspaces];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: root, maxBuffer: 1 << 28 });
  return new Map(
    JSON.parse(stdout).map((/** @type {any} */ packed) => [packed.name, join(directory, packed.filename)]),
  );
}

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { pack, publishedManifests, root } from "../../pack.mjs";

type Dependencies = Readonly<Record<string, string>>;

/**
 * Installs packages into a directory as a user of the registry has them: what their tarballs hold, with the
 * dependencies that they declare. npm finds third-party dependencies already in place, copied from the workspace, because
 * tests use no network and a registry's metadata need not be in npm's cache. It removes those that nobody declares.
 *
 * @param requested packages by name with version ranges, as in a `package.json`
 */
export async function install(directory: string, requested: Dependencies): Promise<void> {
  const published = publishedManifests();
  const own = new Set<string>();
  const thirdParty = new Set<string>();
  const visit = (names: Iterable<string>): void => {
    for (const name of names) {
      const found = published.has(name) ? own : thirdParty;
      if (found.has(name)) continue;
      found.add(name);
      visit(Object.keys(published.get(name)?.dependencies ?? workspaceDependencies(name)));
    }
  };
  visit(Object.keys(requested));

  await mkdir(join(directory, "tarballs"), { recursive: true });
  await Promise.all([...thirdParty].map((name) => copyFromWorkspace(name, directory)));
  const tarballs = await pack([...own], join(directory, "tarballs"));
  const files = [...tarballs].map(([name, tarball]) => [name, `file:${tarball}`] as const);
  const manifest = { private: true, type: "module", dependencies: { ...requested, ...Object.fromEntries(files) } };
  await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
  const args = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", args, { cwd: directory });
}

function workspaceDependencies(name: string): Dependencies {
  const file = join(root, "node_modules", name, "package.json");
  return existsSync(file)
    ? ((JSON.parse(readFileSync(file, "utf8")) as { dependencies?: Dependencies }).dependencies ?? {})
    : {};
}

async function copyFromWorkspace(name: string, directory: string): Promise<void> {
  const from = join(root, "node_modules", name);
  if (existsSync(from)) await cp(from, join(directory, "node_modules", name), { recursive: true });
}

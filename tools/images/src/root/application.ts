import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { isThere } from "../downloads/cache.js";
import { inputsOf, noticesOf, type NpmPackage, npmPackagesOf } from "./npm-packages.js";
import { addFile, addLink, type Tree } from "./tree.js";

export interface Application {
  /** Folder in `apps/`, name of the command, and of its folder in `/opt`. */
  readonly name: string;
  /** Names of the command in `/usr/local/bin`. */
  readonly commands: readonly string[];
  /** Packages that the bundle loads on demand, with what it imports of them. */
  readonly external: Readonly<Record<string, readonly string[]>>;
}

export interface ApplicationLayer {
  readonly name: string;
  readonly tree: Tree;
  readonly npmPackages: readonly NpmPackage[];
}

/**
 * Returns the layer of a command: its bundle, the packages that the bundle loads on demand, and the terms of all of
 * them.
 *
 * @param root folder of this repository
 * @throws Error if there is no bundle
 */
export async function applicationLayer(application: Application, root: string): Promise<ApplicationLayer> {
  const { name, commands, external } = application;
  const folder = join(root, "apps", name);
  const [bundle, metadata] = [join(folder, "bundle/main.js"), join(folder, "bundle/meta.json")];
  if (!(await isThere(bundle)) || !(await isThere(metadata)))
    throw new Error(`apps/${name} has no bundle: npm run build`);
  const tree: Tree = new Map();
  const home = `opt/${name}`;
  addFile(tree, `${home}/package.json`, await readFile(join(folder, "package.json")));
  addFile(tree, `${home}/bin/${name}.js`, await startProgram(join(folder, `bin/${name}.js`)), 0o755);
  addFile(tree, `${home}/bundle/main.js`, await readFile(bundle));
  for (const command of commands) addLink(tree, `usr/local/bin/${command}`, `/${home}/bin/${name}.js`);
  const inputs = [
    ...inputsOf(JSON.parse(await readFile(metadata, "utf8")) as { inputs: object }, `apps/${name}`),
    ...(await addExternals(tree, `${home}/node_modules`, external, root)),
  ];
  const npmPackages = await npmPackagesOf(inputs, root);
  addFile(tree, `usr/share/doc/${name}/LICENSE`, await readFile(join(root, "LICENSE")));
  addFile(tree, `usr/share/doc/${name}/third-party-notices.txt`, noticesOf(npmPackages));
  return { name, tree, npmPackages };
}

/** The image has no `env` that finds Node. */
async function startProgram(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  return text.replace(/^#!.*/, "#!/usr/local/bin/node");
}

/**
 * Adds each package as one file with what is imported of it. Installed, `@kubernetes/client-node` and its dependencies
 * have 60 MB.
 *
 * @returns the files that were bundled, relative to the root
 */
async function addExternals(tree: Tree, folder: string, external: Application["external"], root: string) {
  const inputs: string[] = [];
  for (const [name, imports] of Object.entries(external)) {
    const { outputFiles, metafile } = await build({
      stdin: { contents: `export { ${imports.join(", ")} } from "${name}";`, resolveDir: root },
      absWorkingDir: root,
      bundle: true,
      write: false,
      metafile: true,
      platform: "node",
      format: "esm",
      target: "node20",
      minifyWhitespace: true,
      minifySyntax: true,
      lineLimit: 160,
      legalComments: "none",
      banner: {
        js: `import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);`,
      },
    });
    const { version } = JSON.parse(await readFile(join(root, "node_modules", name, "package.json"), "utf8")) as {
      version: string;
    };
    const manifest = { name, version, type: "module", exports: "./index.js" };
    addFile(tree, `${folder}/${name}/package.json`, `${JSON.stringify(manifest)}\n`);
    addFile(tree, `${folder}/${name}/index.js`, outputFiles[0]?.contents ?? "");
    inputs.push(...inputsOf(metafile, "."));
  }
  return inputs;
}

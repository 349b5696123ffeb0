import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { configurationRules } from "./definitions/configuration-rules.js";
import { type CustomResourceDefinition, customResourceDefinitions } from "./definitions/custom-resource-definitions.js";
import { readProtos } from "./definitions/read-protos.js";

/** The repository's charts. */
export const CHARTS = fileURLToPath(new URL("../../../manifests/charts/", import.meta.url));
/** Files that all charts contain. */
const SHARED = fileURLToPath(new URL("../../../manifests/shared/", import.meta.url));

const chartNames = ["base", "istiod", "gateway"];

/** Writes the generated files of the charts, and returns their paths. */
export async function completeCharts(charts = CHARTS): Promise<readonly string[]> {
  const files = new Map<string, string>();
  const definitions = customResourceDefinitions(await readProtos());
  files.set("base/files/crd-all.gen.yaml", manifestOf(definitions));
  const shared = await sharedFiles();
  shared.set("templates/_kinds.gen.tpl", configurationRules(definitions));
  for (const chart of chartNames) for (const [path, content] of shared) files.set(join(chart, path), content);
  // Last, because templates take this file as a sign that the others exist.
  for (const chart of chartNames) files.set(join(chart, "files/complete.gen.txt"), "complete\n");
  const paths = [...files.keys()].map((path) => join(charts, path));
  for (const [path, content] of files) await replaceFile(join(charts, path), content);
  return paths;
}

/** Returns the definitions as YAML documents. */
export function manifestOf(definitions: readonly CustomResourceDefinition[]): string {
  return definitions
    .map((definition) => stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join("---\n");
}

/** Helm has no files that charts share without packaging them first, so each chart gets a copy. */
async function sharedFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  files.set("templates/_shared.gen.tpl", await readFile(join(SHARED, "shared.tpl"), "utf8"));
  const profiles = join(SHARED, "profiles");
  for (const name of (await readdir(profiles)).toSorted())
    files.set(`files/profile-${basename(name, ".yaml")}.gen.yaml`, await readFile(join(profiles, name), "utf8"));
  return files;
}

/** Helm may read the folder at the same time, so a file appears whole. */
async function replaceFile(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.partial`, content);
  await rename(`${path}.partial`, path);
}

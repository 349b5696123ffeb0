import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { addFile, compress, type Tree, writeTar } from "@istiod/images";
import { parse } from "yaml";
import { CHARTS, completeCharts } from "./complete-charts.js";

/**
 * Completes the charts, and packages each as Helm does: `<name>-<version>.tgz` with the chart's folder. The same files
 * yield the same bytes.
 *
 * @param output folder of the packages
 * @returns the paths of the packages
 */
export async function packageCharts(output: string, charts = CHARTS): Promise<readonly string[]> {
  await completeCharts(charts);
  await mkdir(output, { recursive: true });
  const packages: string[] = [];
  for (const name of (await readdir(charts)).toSorted()) {
    const folder = join(charts, name);
    const { version } = parse(await readFile(join(folder, "Chart.yaml"), "utf8")) as { readonly version: string };
    const tree: Tree = new Map();
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const file = join(entry.parentPath, entry.name);
        addFile(tree, join(name, file.slice(folder.length + 1)), await readFile(file));
      }
    const path = join(output, `${name}-${version}.tgz`);
    await writeFile(path, await compress(writeTar(tree)));
    packages.push(path);
  }
  return packages;
}

import { join } from "node:path";
import { type DebianPackage, pathsOf } from "../downloads/debian-packages.js";
import { addFile, copyInto, mergedPath, type Tree } from "./tree.js";

/** Patterns of the files that are taken from a package, as paths in `/usr` if it is merged. */
export type Selection = Readonly<Record<string, readonly RegExp[]>>;

/** Shared libraries of every architecture, with the links to them. */
export const LIBRARIES = /^usr\/lib(64)?\/([\w-]+-linux-gnu\/)?(lib[^/]*|ld-linux-[^/]*)\.so(\.[\d.]+)?$/;

/**
 * Adds the selected files of Debian packages, the terms of their licences, and the records by which scanners of images
 * know them.
 *
 * @throws Error if a pattern selects nothing
 */
export async function addDebianFiles(tree: Tree, packages: readonly DebianPackage[], selection: Selection) {
  for (const each of packages) {
    const paths = await pathsOf(each);
    for (const pattern of selection[each.name] ?? []) {
      const selected = paths.filter((path) => pattern.test(mergedPath(path)));
      if (selected.length === 0) throw new Error(`${each.name} ${each.version} has no file like ${String(pattern)}`);
      for (const path of selected) await copyInto(tree, mergedPath(path), join(each.files, path));
    }
    const terms = `usr/share/doc/${each.name}`;
    const found = paths.filter((path) => path === terms || path === `${terms}/copyright`).at(-1) ?? "";
    if (found === "") throw new Error(`${each.name} ${each.version} has no copyright file`);
    await copyInto(tree, found, join(each.files, found));
    addFile(tree, `var/lib/dpkg/status.d/${each.name}`, each.control);
  }
}

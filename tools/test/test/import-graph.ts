import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";

/** Source files with the files that they import by relative paths, types included. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Reads the import graph of the TypeScript files below a folder. Paths are relative to `root`. */
export function importGraph(root: string, folder: string): ImportGraph {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.m?tsx?$/.test(name))
    .map((name) => join(root, folder, name));
  return new Map(files.map((file) => [relative(root, file), importsOf(file).map((path) => relative(root, path))]));
}

function importsOf(file: string): readonly string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, "utf8"), true, true);
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("."))
    .map((name) => join(dirname(file), name.replace(/js$/, "ts")))
    .filter((path) => existsSync(path));
}

/**
 * Returns the groups of files that import each other directly or indirectly, each sorted: the strongly connected
 * components.
 */
export function importCycles(graph: ImportGraph): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const order = new Map<string, number>();
  const stack: string[] = [];
  const visit = (file: string): number => {
    let low = order.size;
    order.set(file, low);
    stack.push(file);
    const imports = graph.get(file) ?? [];
    for (const imported of imports) {
      if (!order.has(imported)) low = Math.min(low, visit(imported));
      else if (stack.includes(imported)) low = Math.min(low, order.get(imported) as number);
    }
    if (low === order.get(file)) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1 || imports.includes(file)) cycles.push(group.sort());
    }
    return low;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return cycles.sort((a, b) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1));
}

// TypeDoc plugin: names modules as they are imported, `@istiod/ca/testing` instead of `packages/ca/src/testing`.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Converter, ReflectionKind } from "typedoc";
import { root } from "./pack.mjs";

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
    const [source] = reflection.kindOf(ReflectionKind.Module)
      ? (context.getSymbolFromReflection(reflection)?.declarations ?? [])
      : [];
    if (source) reflection.name = importName(relative(root, source.getSourceFile().fileName));
  });
}

/** @param {string} path of an entry point's source, from the root */
function importName(path) {
  const [project = ""] = /^\w+\/[\w-]+/.exec(path) ?? [];
  const { name, exports } = JSON.parse(readFileSync(join(root, project, "package.json"), "utf8"));
  const subpath = Object.keys(exports).find((key) => join(project, exports[key]["@istiod/source"] ?? "") === path);
  if (subpath === undefined) throw new Error(`${path}: not an export of ${name}`);
  return join(name, subpath);
}

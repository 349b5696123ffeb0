// Writes the module that has every message type.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * Writes a module with all files, for those who must open any message: dumps, comparisons. Most processes never do, so
 * it has the descriptors of its own, and decodes them when it is first asked.
 */
export function writeRegistry(gen) {
  const files = new Map(modulesUnder(gen).map((module) => descriptorOf(join(gen, module))));
  const foreign = new Set([...files.values()].flatMap(({ imports }) => imports.filter((name) => !files.has(name))));
  const ordered = new Set();
  const add = (name) => {
    const file = files.get(name);
    if (file === undefined || ordered.has(name)) return;
    for (const each of file.imports) add(each);
    ordered.add(name);
  };
  [...files.keys()].sort().forEach(add);
  const descriptors = [...ordered].map((name) => {
    const { text, imports } = files.get(name);
    return `  const ${name} = fileDesc("${text}", [${imports.join(", ")}]);`;
  });
  writeFileSync(
    join(gen, "registry_pb.js"),
    `import { createRegistry } from "@bufbuild/protobuf";
import { fileDesc } from "@bufbuild/protobuf/codegenv2";
import { ${[...foreign].sort().join(", ")} } from "@bufbuild/protobuf/wkt";

function build() {
${descriptors.join("\n")}
  return createRegistry(${[...[...foreign].sort(), ...ordered].join(", ")});
}

let built;
const all = () => (built ??= build());

export const registry = {
  kind: "registry",
  [Symbol.iterator]: () => all()[Symbol.iterator](),
  get: (typeName) => all().get(typeName),
  getMessage: (typeName) => all().getMessage(typeName),
  getEnum: (typeName) => all().getEnum(typeName),
  getExtension: (typeName) => all().getExtension(typeName),
  getExtensionFor: (extendee, no) => all().getExtensionFor(extendee, no),
  getService: (typeName) => all().getService(typeName),
};
`,
  );
  writeFileSync(
    join(gen, "registry_pb.d.ts"),
    `import type { Registry } from "@bufbuild/protobuf";
/** Every message type of this package, decoded when it is first asked. Its descriptors are no schemas of the modules. */
export declare const registry: Registry;
`,
  );
}

/** Returns the name of a generated file with its descriptor, in base64, and the names of those that it imports. */
function descriptorOf(module) {
  const found = /export const (file_\w+) = \/\*@__PURE__\*\/\s*fileDesc\("([^"]*)"(?:, \[([^\]]*)\])?\);/.exec(
    readFileSync(module, "utf8"),
  );
  if (found === null) throw new Error(`${module}: no file descriptor`);
  const [, name, text, imports = ""] = found;
  return [name, { text, imports: imports.split(", ").filter((each) => each !== "") }];
}

function modulesUnder(dir, base = dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory()
      ? modulesUnder(join(dir, e.name), base)
      : e.name.endsWith("_pb.js")
        ? [relative(base, join(dir, e.name))]
        : [],
  );
}

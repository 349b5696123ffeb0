// Generates gen/ from the Envoy protos inside @grpc/grpc-js-xds: normalises them into build/proto, then runs buf once.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { extendedFiles, withAdditions } from "./additions.mjs";

const require = createRequire(import.meta.url);
const here = dirname(dirname(fileURLToPath(import.meta.url)));
const proto = join(here, "build", "proto");
/** Generated beside gen/, which it replaces when it is whole. */
const fresh = join(here, "build", "gen");
const deps = join(dirname(require.resolve("@grpc/grpc-js-xds/package.json")), "deps");

/** Roots of the published tree, and what of each is wanted. Superseded API versions are not. */
const roots = [
  ["envoy-api", /^envoy\/(?!.*\/v2(alpha)?\d?\/)/],
  ["xds", /^(xds|udpa)\//],
  ["googleapis", /^google\/(rpc\/status|api\/expr\/v1alpha1\/(syntax|checked))\.proto$/],
];
/** Imports whose only content is options, which have no effect at run time. */
const annotationImport =
  /^(validate|udpa\/annotations|xds\/annotations|envoy\/annotations)\/|^google\/api\/annotations\.proto$/;
/** Imports that are in no package; a file that needs one of them is left out. */
const absentImport = /^(opencensus|io\/prometheus)\//;

/** Removes option statements and bracketed options of annotation packages from one proto file. */
function withoutAnnotations(source) {
  const name = String.raw`\((?:validate|udpa\.annotations|xds\.annotations|envoy\.annotations|google\.api)\b[^)]*\)`;
  const statement = new RegExp(
    String.raw`^[ \t]*option ${name}[\w.]*\s*=\s*(?:\{[\s\S]*?\n?[ \t]*\}|[^;{]*);[ \t]*\n`,
    "gm",
  );
  let text = source.replace(statement, "");
  text = stripBracketOptions(text, new RegExp(`^${name}`));
  return text;
}

/** Rewrites each `[...]` list of field options without those whose name matches. */
function stripBracketOptions(text, drop) {
  let out = "";
  let at = 0;
  while (at < text.length) {
    const c = text[at];
    if (c === "/" && text[at + 1] === "/") {
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length : end;
      continue;
    }
    if (c === "/" && text[at + 1] === "*") {
      at = text.indexOf("*/", at) + 2;
      continue;
    }
    if (c === '"') {
      const end = endOfString(text, at);
      out += text.slice(at, end);
      at = end;
      continue;
    }
    if (c !== "[") {
      out += c;
      at++;
      continue;
    }
    const end = closing(text, at);
    const kept = splitTop(text.slice(at + 1, end)).filter((o) => !drop.test(o.trim()));
    out = kept.length ? `${out}[${kept.join(",")}]` : out.trimEnd();
    at = end + 1;
  }
  return out;
}

function endOfString(text, at) {
  let end = at + 1;
  while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  return end + 1;
}

function closing(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const c = text[i];
    if (c === '"') i = endOfString(text, i) - 1;
    else if (c === "[" || c === "{") depth++;
    else if ((c === "]" || c === "}") && --depth === 0) return i;
  }
  throw new Error("unbalanced options in a proto file");
}

function splitTop(text) {
  const parts = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') i = endOfString(text, i) - 1;
    else if (c === "[" || c === "{") depth++;
    else if (c === "]" || c === "}") depth--;
    else if (c === "," && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

function protosUnder(dir, base = dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory()
      ? protosUnder(join(dir, e.name), base)
      : e.name.endsWith(".proto")
        ? [relative(base, join(dir, e.name))]
        : [],
  );
}

rmSync(join(here, "build"), { recursive: true, force: true });
cpSync(join(here, "stubs"), proto, { recursive: true });
const left = [];
for (const [root, wanted] of roots) {
  for (const file of protosUnder(join(deps, root))) {
    if (!wanted.test(file) || existsSync(join(proto, file))) continue;
    const source = readFileSync(join(deps, root, file), "utf8").replaceAll("\r\n", "\n");
    const imports = [...source.matchAll(/^import (?:public |weak )?"([^"]+)";/gm)].map((m) => m[1]);
    if (/^envoy\/annotations\//.test(file) || /^(udpa|xds)\/annotations\//.test(file)) continue;
    if (imports.some((i) => absentImport.test(i)) || imports.some((i) => /\/v2(alpha)?\d?\//.test(i))) {
      left.push(file);
      continue;
    }
    const text = withoutAnnotations(
      source.replace(/^import (?:public |weak )?"([^"]+)";[^\n]*\n/gm, (line, i) =>
        annotationImport.test(i) ? "" : line,
      ),
    );
    mkdirSync(dirname(join(proto, file)), { recursive: true });
    writeFileSync(join(proto, file), withAdditions(file, text));
    extendedFiles.delete(file);
  }
}
if (extendedFiles.size > 0)
  throw new Error(`no longer published, but to be extended: ${[...extendedFiles].join(", ")}`);
const gone = new Set(left);
for (const file of protosUnder(proto)) {
  const path = join(proto, file);
  const text = readFileSync(path, "utf8");
  const imports = [...text.matchAll(/^import (?:public |weak )?"([^"]+)";/gm)].map((m) => m[1]);
  if (imports.some((i) => gone.has(i))) {
    writeFileSync(
      path,
      text.replace(/^import (?:public |weak )?"([^"]+)";[^\n]*\n/gm, (line, i) => (gone.has(i) ? "" : line)),
    );
  }
}
writeFileSync(join(here, "build", "buf.yaml"), "version: v2\nmodules:\n  - path: proto\n");
const plugin = join(dirname(require.resolve("@bufbuild/protoc-gen-es/package.json")), "bin", "protoc-gen-es");
writeFileSync(
  join(here, "build", "buf.gen.json"),
  JSON.stringify({
    version: "v2",
    inputs: [{ directory: "proto" }],
    plugins: [
      { local: [process.execPath, plugin], out: fresh, strategy: "all", opt: ["target=js+dts", "import_extension=js"] },
    ],
  }),
);
const buf = require.resolve("@bufbuild/buf/bin/buf");
execFileSync(process.execPath, [buf, "generate", "--template", "buf.gen.json"], {
  cwd: join(here, "build"),
  stdio: "inherit",
});
writeRegistry(fresh);
rmSync(join(here, "gen"), { recursive: true, force: true });
renameSync(fresh, join(here, "gen"));

/**
 * Writes a module with all files, for those who must open any message: dumps, comparisons. Most processes never do, so
 * it has the descriptors of its own, and decodes them when it is first asked.
 */
function writeRegistry(gen) {
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
  return createRegistry(${[...ordered].join(", ")});
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

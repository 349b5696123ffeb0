// Generates gen/ from the protos at the root of the repository.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const here = dirname(dirname(fileURLToPath(import.meta.url)));
/** Generated beside gen/, which it replaces when it is whole. */
const fresh = join(here, "build", "gen");
const protos = join(dirname(dirname(here)), "proto");
rmSync(fresh, { recursive: true, force: true });
mkdirSync(join(here, "build"), { recursive: true });
const plugin = join(dirname(require.resolve("@bufbuild/protoc-gen-es/package.json")), "bin", "protoc-gen-es");
const template = join(here, "build", "buf.gen.json");
writeFileSync(
  template,
  JSON.stringify({
    version: "v2",
    inputs: [{ directory: "." }],
    plugins: [
      { local: [process.execPath, plugin], out: fresh, strategy: "all", opt: ["target=js+dts", "import_extension=js"] },
    ],
  }),
);
execFileSync(process.execPath, [require.resolve("@bufbuild/buf/bin/buf"), "generate", "--template", template], {
  cwd: protos,
  stdio: "inherit",
});
writeRegistry(fresh);
rmSync(join(here, "gen"), { recursive: true, force: true });
renameSync(fresh, join(here, "gen"));

/** Writes a module that exports every generated file, for those who must open any message: dumps, comparisons. */
function writeRegistry(gen) {
  const files = modulesUnder(gen).sort();
  const name = (i) => `file${i}`;
  const imports = files.map((f, i) => `import { ${exportOf(join(gen, f))} as ${name(i)} } from "./${f}";`).join("\n");
  writeFileSync(
    join(gen, "registry_pb.js"),
    `import { createRegistry } from "@bufbuild/protobuf";\n${imports}\nexport const registry = createRegistry(${files.map((_, i) => name(i)).join(", ")});\n`,
  );
  writeFileSync(
    join(gen, "registry_pb.d.ts"),
    `import type { Registry } from "@bufbuild/protobuf";\n/** Every message type of this package. */\nexport declare const registry: Registry;\n`,
  );
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

function exportOf(module) {
  return /export const (file_\w+) =/.exec(readFileSync(module, "utf8"))[1];
}

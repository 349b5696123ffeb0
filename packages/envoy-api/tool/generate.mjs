// Generates gen/ from the descriptors in Envoy's Go modules, with protoc-gen-es.
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as wkt from "@bufbuild/protobuf/wkt";
import { readDescriptors } from "./go-descriptors.mjs";
import { downloadModules } from "./modules.mjs";
import { writeRegistry } from "./registry.mjs";
import { selectFiles } from "./select-files.mjs";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const build = join(here, "build");
/** Generated beside gen/, which it replaces when it is whole. */
const fresh = join(build, "gen");

rmSync(build, { recursive: true, force: true });
const directories = download();
const files = selectFiles(directories.flatMap(readDescriptors));
for (const { name, content } of runPlugin(files)) {
  mkdirSync(dirname(join(fresh, name)), { recursive: true });
  writeFileSync(join(fresh, name), content);
}
writeRegistry(fresh);
rmSync(join(here, "gen"), { recursive: true, force: true });
renameSync(fresh, join(here, "gen"));

/** Ends the process with one sentence where Envoy's API cannot be downloaded. */
function download() {
  try {
    return downloadModules(join(build, "modules"));
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

/** The modules that protoc-gen-es generates for proto files. */
function runPlugin(protoFiles) {
  const request = create(wkt.CodeGeneratorRequestSchema, {
    fileToGenerate: protoFiles.map(({ name }) => name),
    parameter: "target=js+dts,import_extension=js",
    protoFile: [...runtimeFiles(), ...protoFiles],
  });
  const require = createRequire(import.meta.url);
  const plugin = join(dirname(require.resolve("@bufbuild/protoc-gen-es/package.json")), "bin", "protoc-gen-es");
  const { status, stdout, stderr } = spawnSync(process.execPath, [plugin], {
    input: toBinary(wkt.CodeGeneratorRequestSchema, request),
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`protoc-gen-es failed: ${stderr}`);
  const { error, file } = fromBinary(wkt.CodeGeneratorResponseSchema, stdout);
  if (error) throw new Error(`protoc-gen-es failed: ${error}`);
  return file;
}

/** Descriptors of google/protobuf/*.proto. */
function runtimeFiles() {
  const names = ["any", "descriptor", "duration", "empty", "struct", "timestamp", "wrappers"];
  return names.map((name) => wkt[`file_google_protobuf_${name}`].proto);
}

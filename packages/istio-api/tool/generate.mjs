// Generates gen/ from the protos at the root of the repository.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const here = dirname(dirname(fileURLToPath(import.meta.url)));
const protos = join(dirname(dirname(here)), "proto");
rmSync(join(here, "gen"), { recursive: true, force: true });
mkdirSync(join(here, "build"), { recursive: true });
const plugin = join(dirname(require.resolve("@bufbuild/protoc-gen-es/package.json")), "bin", "protoc-gen-es");
const template = join(here, "build", "buf.gen.json");
writeFileSync(
  template,
  JSON.stringify({
    version: "v2",
    inputs: [{ directory: "." }],
    plugins: [{ local: [process.execPath, plugin], out: join(here, "gen"), strategy: "all", opt: ["target=js+dts", "import_extension=js"] }],
  }),
);
execFileSync(process.execPath, [require.resolve("@bufbuild/buf/bin/buf"), "generate", "--template", template], { cwd: protos, stdio: "inherit" });

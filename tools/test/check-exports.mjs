// Checks what each published package exports, as npm and TypeScript see it: publint and attw over its tarball.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pack, publishedManifests, root } from "./pack.mjs";

const attwOptions = ["--profile", "esm-only", "--format", "ascii", "--no-emoji"];
/** Packages whose exports are a pattern over generated files: only the manifest is checked. */
const excluded = ["--exclude-entrypoints", "./*", "./package.json"];

const directory = await mkdtemp(join(tmpdir(), "exports-"));
try {
  const tarballs = await pack([...publishedManifests().keys()], directory);
  const checks = [...tarballs].flatMap(([name, tarball]) => [
    { name, tool: "publint", args: ["run", "--strict", tarball] },
    { name, tool: "attw", args: [tarball, ...attwOptions, ...excluded] },
  ]);
  await Promise.all([worker(checks), worker(checks)]);
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Runs checks until none are left. */
async function worker(checks) {
  for (let check = checks.shift(); check; check = checks.shift()) {
    const { name, tool, args } = check;
    try {
      await promisify(execFile)(join(root, "node_modules", ".bin", tool), args, { cwd: root });
      console.log(`${tool} ${name}: ok`);
    } catch (error) {
      process.exitCode = 1;
      console.error(`${tool} ${name}:\n${error.stdout ?? ""}${error.stderr ?? error}`);
    }
  }
}

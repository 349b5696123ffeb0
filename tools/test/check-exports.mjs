// Checks what each published package exports, as npm and TypeScript see it: publint and attw over its tarball.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { pack, publishedManifests } from "./pack.mjs";

/** Packages whose exports are a pattern over generated files: only the manifest is checked. */
const excludeEntrypoints = ["./*", "./package.json"];
/** Resolutions that a package of ES modules does not support. */
const ignoredResolutions = ["node10", "node16-cjs"];

const directory = await mkdtemp(join(tmpdir(), "exports-"));
try {
  for (const [name, path] of await pack([...publishedManifests().keys()], directory)) {
    const tarball = await readFile(path);
    report("publint", name, await lint(tarball));
    report("attw", name, await checkTypes(tarball));
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Returns the errors and warnings of publint. */
async function lint(tarball) {
  const { buffer, byteOffset, byteLength } = tarball;
  const packed = { tarball: buffer.slice(byteOffset, byteOffset + byteLength) };
  const { messages, pkg } = await publint({ pack: packed, level: "warning", strict: true });
  return messages.map((message) => formatMessage(message, pkg, { color: false }));
}

/** Returns the problems that attw finds in the types of a package. */
async function checkTypes(tarball) {
  const { types, problems } = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)), {
    excludeEntrypoints,
  });
  if (types === false) return ["the package has no types"];
  return problems
    .filter(({ resolutionKind }) => !ignoredResolutions.includes(resolutionKind))
    .map((problem) => JSON.stringify(problem));
}

function report(tool, name, problems) {
  if (problems.length === 0) return console.log(`${tool} ${name}: ok`);
  process.exitCode = 1;
  console.error(`${tool} ${name}:\n${problems.join("\n")}`);
}

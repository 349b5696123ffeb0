import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type BuildResult, buildImages, ROOT } from "./build-images.js";
import { type Architecture, ARCHITECTURES } from "./lock.js";
import { updateLock } from "./update-lock.js";

const USAGE = `usage: istiod-images build [--arch LIST] [--output FOLDER] [--hub NAME] | lock [--node VERSION] [--envoy VERSION]
  build  write the images as OCI layouts and archives for Docker. --arch: ${ARCHITECTURES.join(",")} by default;
         --output: build/images by default; --hub: registry and folder in the archives, istiod by default
  lock   take the current versions of the Debian packages, and the given ones of Node and Envoy
`;

async function build(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      arch: { type: "string", default: ARCHITECTURES.join(",") },
      output: { type: "string", default: join(ROOT, "build/images") },
      hub: { type: "string", default: "istiod" },
    },
  });
  const architectures = values.arch.split(",").map((name): Architecture => {
    const found = ARCHITECTURES.find((architecture) => architecture === name);
    if (found === undefined) throw new Error(`--arch has ${name}: must be of ${ARCHITECTURES.join(", ")}`);
    return found;
  });
  const results = await buildImages({ architectures, output: resolve(values.output), hub: values.hub });
  for (const result of results) print(result);
}

function print({ image, digest, built }: BuildResult): void {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  process.stdout.write(`${image} ${digest}\n`);
  for (const [architecture, { compressedBytes, bytes }] of Object.entries(built))
    process.stdout.write(`  ${architecture}: ${megabytes(compressedBytes)} compressed, ${megabytes(bytes)} unpacked\n`);
}

async function lock(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { node: { type: "string" }, envoy: { type: "string" } } });
  await updateLock(values);
}

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (command === "build") await build(args);
  else if (command === "lock") await lock(args);
  else {
    process.stderr.write(USAGE);
    return 2;
  }
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`istiod-images: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

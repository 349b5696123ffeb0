import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const sources = fileURLToPath(new URL("../go/", import.meta.url));
/** A folder that the repository ignores. */
const output = fileURLToPath(new URL("../build/", import.meta.url));

/**
 * Returns the program in Go, if it is built from the present sources.
 *
 * @throws Error with one sentence that says what is missing
 */
export async function goProbe(): Promise<string> {
  const program = await path();
  if (!existsSync(program)) throw new Error("the client in Go is not built: npm run install-go -w tools/proxyless");
  return program;
}

/** Builds the program in Go, unless it is built already. Modules and results are kept in Go's own caches. */
export async function buildGo(): Promise<string> {
  const program = await path();
  if (existsSync(program)) return program;
  await mkdir(output, { recursive: true });
  // Without inlining and debug information, the compiler needs half of the time.
  const flags = { CGO_ENABLED: "0", GOFLAGS: "-trimpath '-gcflags=all=-l -dwarf=false'", GOWORK: "off" };
  const partial = `${program}.${process.pid}`;
  await promisify(execFile)("go", ["build", "-ldflags=-s -w", "-o", partial, "."], {
    cwd: sources,
    env: { ...process.env, ...flags },
  });
  await rename(partial, program);
  return program;
}

async function path(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of ["go.mod", "go.sum", "main.go"]) hash.update(await readFile(join(sources, name)));
  return join(output, `probe-${hash.digest("hex").slice(0, 16)}`);
}

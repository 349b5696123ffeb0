import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const sources = fileURLToPath(new URL("../java/", import.meta.url));
/** A folder that the repository ignores. */
const output = fileURLToPath(new URL("../build/", import.meta.url));

/**
 * Returns the class path of the program in Java, if it is built from the present sources.
 *
 * @throws Error with one sentence that says what is missing
 */
export async function javaProbe(): Promise<string> {
  const folder = await path();
  if (!existsSync(folder)) throw new Error("the client in Java is not built: npm run install-java -w tools/proxyless");
  return `${join(folder, "classes")}:${join(folder, "lib")}/*`;
}

/** Builds the program in Java by Maven, unless it is built already, and returns its folder. */
export async function buildJava(): Promise<string> {
  const folder = await path();
  if (existsSync(folder)) return folder;
  await mkdir(output, { recursive: true });
  const partial = `${folder}.${process.pid}`;
  try {
    await promisify(execFile)(
      "mvn",
      ["--quiet", "--batch-mode", `-Doutput=${partial}`, "compile", "dependency:copy-dependencies"],
      { cwd: sources },
    );
    await rename(partial, folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}

async function path(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of ["pom.xml", "src/Probe.java"]) hash.update(await readFile(join(sources, name)));
  return join(output, `java-${hash.digest("hex").slice(0, 16)}`);
}

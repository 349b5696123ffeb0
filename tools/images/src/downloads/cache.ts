import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LockedFile } from "../lock.js";

/** Folder of downloads and compressed layers, which Git ignores. */
export const CACHE = fileURLToPath(new URL("../../build/", import.meta.url));

export function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

export async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

const pathOf = ({ sha256 }: LockedFile): string => join(CACHE, "downloads", sha256);

export async function isCached(file: LockedFile): Promise<boolean> {
  return await isThere(pathOf(file));
}

/**
 * Returns the path of a locked file, which is downloaded at most once.
 *
 * @param name for errors
 * @param download writes the file into an empty folder
 * @throws Error if the download has another digest
 */
export async function cached(
  name: string,
  file: LockedFile,
  download?: (folder: string) => Promise<unknown>,
): Promise<string> {
  if (await isCached(file)) return pathOf(file);
  const digests = download ? await downloadAll(download) : [];
  if (!digests.includes(file.sha256))
    throw new Error(`${name}: the download has sha256:${digests.join(", ")}, and lock.json sha256:${file.sha256}`);
  return pathOf(file);
}

/**
 * Keeps downloaded files by their digests.
 *
 * @param download writes files into an empty folder
 * @returns the SHA-256 digests of the files
 */
export async function downloadAll(download: (folder: string) => Promise<unknown>): Promise<readonly string[]> {
  const parent = join(CACHE, "downloads");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "partial-"));
  try {
    await download(folder);
    const digests: string[] = [];
    for (const name of await readdir(folder)) {
      const sha256 = sha256Of(await readFile(join(folder, name)));
      await rename(join(folder, name), pathOf({ sha256 }));
      digests.push(sha256);
    }
    return digests;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Creates a file or folder under its final name only when it is complete.
 *
 * @param create fills an empty folder, and returns the name of the file in it that is kept, or "" for the folder itself
 */
export async function into(path: string, create: (folder: string) => Promise<string>): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  const folder = await mkdtemp(`${path}.partial-`);
  try {
    const file = await create(folder);
    // Another process that was faster has created the same.
    if (!(await isThere(path))) await rename(join(folder, file), path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

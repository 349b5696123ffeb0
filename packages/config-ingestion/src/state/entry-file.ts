import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, truncate, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isAbsent } from "../files/file-system.js";

/** Largest entry, in bytes. Kubernetes limits objects to about 1.5 MiB. */
const maxEntryBytes = 2 * 1024 * 1024;

/**
 * Writes a file so that it exists with its whole content or not at all, also after a power failure. Its name is durable
 * after `syncDirectory`.
 *
 * @throws Error if the text is too large, and the errors of the file system.
 */
export async function writeEntry(directory: string, name: string, text: string): Promise<void> {
  const size = Buffer.byteLength(text);
  if (size > maxEntryBytes) throw new Error(`the object has ${size} bytes, expected at most ${maxEntryBytes}`);
  const temporary = join(directory, `.tmp-${randomBytes(8).toString("hex")}`);
  try {
    await withFile(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, async (file) => {
      await file.writeFile(text);
      await file.sync();
    });
    await rename(temporary, join(directory, name));
  } catch (cause) {
    await unlink(temporary).catch(() => undefined);
    throw cause;
  }
}

/**
 * Puts an empty file in the place of another one, or creates it if there is no other. Renaming takes no space, and an
 * empty file none for content, so that this mostly succeeds on a full disk.
 *
 * @throws Error of the file system
 */
export async function writeEmptyEntry(directory: string, name: string, replaced: string | undefined): Promise<void> {
  const path = join(directory, name);
  if (replaced !== undefined && (await isRenamed(join(directory, replaced), path))) {
    await truncate(path).catch(() => undefined);
    return;
  }
  await withFile(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, (file) => file.sync());
}

async function isRenamed(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    (cause: unknown) => {
      // Another process has removed or replaced it.
      if (isAbsent(cause)) return false;
      throw cause;
    },
  );
}

/** Makes the names of written files durable. */
export async function syncDirectory(directory: string): Promise<void> {
  await withFile(directory, constants.O_RDONLY, (opened) => opened.sync());
}

/** Reads an entry. @throws Error that says why it cannot be used, and the errors of the file system */
export async function readEntry(path: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return withFile(path, flags, async (file) => {
    const { mode, size } = await file.stat();
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error("is not a regular file");
    if ((mode & 0o002) !== 0) throw new Error("can be written by every user");
    if (size > maxEntryBytes) throw new Error(`has ${size} bytes, expected at most ${maxEntryBytes}`);
    return file.readFile("utf8");
  });
}

async function withFile<T>(path: string, flags: number, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags, 0o600);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

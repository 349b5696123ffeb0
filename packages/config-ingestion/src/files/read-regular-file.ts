import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** Content of a file, and the state of the file that it was read from. */
export interface FileContent {
  readonly text: string;
  readonly state: FileState;
}

/** Identity of a file's content without reading it. */
export interface FileState {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  /** Time of the last change of content or metadata, in nanoseconds since the epoch. */
  readonly ctimeNs: bigint;
}

/** A file whose size exceeds the limit. */
export class OversizedFileError extends Error {
  constructor(
    readonly size: bigint,
    readonly maxBytes: number,
  ) {
    super(`has ${size} bytes, expected at most ${maxBytes} (--maxConfigFileBytes)`);
    this.name = "OversizedFileError";
  }
}

/** A file that cannot be read because of what it is, rather than because of an error of the system. */
export class UnusableFileError extends Error {}

const attempts = 5;

/** Milliseconds between two attempts to read a file that changed while it was read. */
const attemptInterval = 20;

const chunkBytes = 1024 * 1024;

/**
 * Reads a file as UTF-8. Waits for no writer: a FIFO or a device is rejected instead of opened for good. A file that
 * changes while it is read is read again.
 *
 * @throws OversizedFileError, UnusableFileError, and the errors of the file system.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<FileContent> {
  const file = await openRegularFile(path);
  try {
    for (let attempt = 1; ; attempt++) {
      const before = await stateOf(file);
      const text = await readAll(file, maxBytes, before.size);
      if (isSameState(before, await stateOf(file))) return { text, state: before };
      if (attempt === attempts) throw new UnusableFileError("keeps changing while it is read");
      await delay(attemptInterval);
    }
  } finally {
    await file.close();
  }
}

/**
 * Passes a file's text to a function in chunks, of which no one needs much time.
 *
 * @param maxBytes bytes after which reading stops
 */
export async function scanRegularFile(path: string, maxBytes: number, visit: (chunk: string) => void): Promise<void> {
  const file = await openRegularFile(path);
  const decoder = new TextDecoder();
  const buffer = Buffer.allocUnsafe(chunkBytes / 4);
  try {
    for (let position = 0; position < maxBytes;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      visit(decoder.decode(buffer.subarray(0, bytesRead), { stream: true }));
    }
  } finally {
    await file.close();
  }
}

export function isSameState(a: FileState, b: FileState): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

async function openRegularFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (stats.isFile()) return file;
  await file.close();
  throw new UnusableFileError("is not a regular file");
}

async function stateOf(file: FileHandle): Promise<FileState> {
  const { size, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
  return { size, mtimeNs, ctimeNs };
}

/** Reads a file in chunks, so that a file that grows without end is not read without end. */
async function readAll(file: FileHandle, maxBytes: number, size: bigint): Promise<string> {
  if (size > BigInt(maxBytes)) throw new OversizedFileError(size, maxBytes);
  const chunks: Buffer[] = [];
  for (let position = 0; ;) {
    const buffer = Buffer.allocUnsafe(Math.max(4096, Math.min(chunkBytes, Number(size) - position + 1)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return Buffer.concat(chunks).toString("utf8");
    position += bytesRead;
    if (position > maxBytes) throw new OversizedFileError(BigInt(position), maxBytes);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

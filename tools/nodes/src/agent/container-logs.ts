import { appendFile, type FileHandle, open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A part of a container's output, as in PodLogOptions of Kubernetes. */
export interface LogSelection {
  /** Send what is written later, too, until the container ends. */
  readonly follow: boolean;
  /** The output before the last restart. */
  readonly previous: boolean;
  /** Number of the last lines. Default: all. */
  readonly tailLines?: number;
  /** Number of bytes at most. Default: all. */
  readonly limitBytes?: number;
  /** Only what was written since, in milliseconds since 1970. Output of up to a second before may be in it. */
  readonly since?: number;
  /** Only what follows so many bytes. Default: 0. */
  readonly offset?: number;
}

/** Bytes of a container's output, up to now. */
export async function loggedBytes(folder: string, attempt: number): Promise<number> {
  return (await stat(logFile(folder, attempt))).size;
}

export interface LoggedContainer {
  /** Folder with the logs of each start. */
  readonly folder: string;
  /** Name for messages. */
  readonly container: string;
  /** Reports whether the container runs that was started a number of times before. */
  isRunning(attempt: number): boolean;
}

const INTERVAL = 100;
const TIME_INTERVAL = 1000;
const BLOCK = 64 * 1024;

/** Returns the file of the output of a container that was started a number of times before. */
export function logFile(folder: string, attempt: number): string {
  return join(folder, `${attempt}.log`);
}

/**
 * Records each second how long a log is, until the signal is aborted. The file beside the log has a line with the time
 * in milliseconds and the number of bytes, if it has changed.
 */
export function recordLogTimes(file: string, signal: AbortSignal): void {
  let last = 0;
  const record = async (): Promise<void> => {
    const now = Date.now();
    const { size } = await stat(file);
    if (size === last) return;
    last = size;
    await appendFile(timesFile(file), `${now} ${size}\n`);
  };
  // The folder of a pod that was removed is gone.
  const tick = (): void => void record().catch(() => undefined);
  const timer = setInterval(tick, TIME_INTERVAL);
  signal.addEventListener("abort", () => {
    clearInterval(timer);
    tick();
  });
}

function timesFile(file: string): string {
  return `${file}.times`;
}

/**
 * Reads the output of a container, until the signal is aborted.
 *
 * @throws Error if the container has not been started, or not again
 */
export async function* readLogs(
  { folder, container, isRunning }: LoggedContainer,
  { follow, previous, tailLines, limitBytes = Infinity, since, offset = 0 }: LogSelection,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const attempt = await attemptOf(folder, container, previous);
  const path = logFile(folder, attempt);
  const file = await open(path);
  try {
    let start = since === undefined ? offset : await offsetSince(path, since);
    if (tailLines !== undefined) start = await startOfLines(file, start, tailLines);
    let left = limitBytes;
    while (!signal.aborted) {
      const mayGrow = follow && isRunning(attempt);
      for await (const block of blocksOf(file, start, left)) {
        start += block.length;
        left -= block.length;
        yield block;
      }
      if (!mayGrow || left <= 0) return;
      await sleep(INTERVAL, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await file.close();
  }
}

async function attemptOf(folder: string, container: string, previous: boolean): Promise<number> {
  const files = await readdir(folder).catch(() => []);
  const last = files.filter((name) => name.endsWith(".log")).length - 1;
  if (last < 0) throw new Error(`container ${container} has not been started`);
  if (previous && last === 0) throw new Error(`container ${container} has not been restarted`);
  return previous ? last - 1 : last;
}

/** Returns the number of bytes that a log had at a time, or at most a second before. */
async function offsetSince(path: string, since: number): Promise<number> {
  const text = await readFile(timesFile(path), "utf8").catch(() => "");
  const records = text
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
  const last = records.findLast(([time = Infinity]) => time <= since);
  return last?.[1] ?? 0;
}

/** Returns where the last lines of a file start, but not before an offset. */
async function startOfLines(file: FileHandle, first: number, lines: number): Promise<number> {
  const { size } = await file.stat();
  if (lines === 0) return size;
  let left = lines;
  for (let end = size; end > first;) {
    const start = Math.max(first, end - BLOCK);
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    for (let i = buffer.length - 1; i >= 0; i--) {
      // The end of the last line does not start another one.
      if (buffer[i] !== 0x0a || start + i === size - 1) continue;
      left--;
      if (left === 0) return start + i + 1;
    }
    end = start;
  }
  return first;
}

/** Reads a file from an offset to its present end, at most a number of bytes. */
async function* blocksOf(file: FileHandle, offset: number, limit: number): AsyncGenerator<Buffer> {
  for (let left = limit; left > 0;) {
    const { bytesRead, buffer } = await file.read(
      Buffer.alloc(Math.min(BLOCK, left)),
      0,
      Math.min(BLOCK, left),
      offset,
    );
    if (bytesRead === 0) return;
    offset += bytesRead;
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

import { execFile } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { promisify } from "node:util";
import { reasonOf } from "@istiod/runtime";
import type { Log } from "../log.js";

/** Standard output or standard error that a child can reopen by its path, such as /dev/stdout. */
export interface ReopenableOutput {
  /** For `stdio` of `child_process.spawn`. */
  readonly stdio: number | "inherit";
  /** Closes this process's copy of the descriptor, once the child has its own. */
  closeWriter(): void;
  /** Resolves when the child has closed its end and everything is copied. */
  readonly copied: Promise<void>;
}

const DEVICES = { stdout: "/dev/stdout", stderr: "/dev/stderr" } as const;
const MAX_LINE_BYTES = 65_536;
const NEWLINE = 10;

/**
 * Creates an output that a child can reopen by its path.
 *
 * Opening /dev/stdout opens the file of descriptor 1. This fails for a socket (ENXIO), and for a pipe or terminal of
 * another user (EACCES). In these cases, the child gets an unlinked FIFO, whose content is copied line by line to this
 * process's output.
 *
 * @param directory directory of the FIFO until it is unlinked; created if absent
 */
export async function reopenableOutput(
  name: "stdout" | "stderr",
  directory: string,
  log: Log,
): Promise<ReopenableOutput> {
  const inherited: ReopenableOutput = { stdio: "inherit", closeWriter: () => undefined, copied: Promise.resolve() };
  const errorCode = openErrorCode(DEVICES[name]);
  if (errorCode === undefined) return inherited;
  try {
    const { reader, writer } = await createPipe(join(directory, `${name}-${process.pid}.fifo`), directory);
    return { stdio: writer, closeWriter: () => closeSync(writer), copied: copyLines(reader, process[name]) };
  } catch (error) {
    log.warn(
      `${DEVICES[name]} cannot be opened (${errorCode}) and no pipe can be created (${reasonOf(error)}); Envoy will reject listeners with an access log to it`,
    );
    return inherited;
  }
}

function openErrorCode(device: string): string | undefined {
  try {
    closeSync(openSync(device, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Creates a FIFO and unlinks it once both ends are open. Node's own pipes are sockets. */
async function createPipe(path: string, directory: string): Promise<{ reader: number; writer: number }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  await promisify(execFile)("mkfifo", ["-m", "600", path]);
  try {
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  } finally {
    unlinkSync(path);
  }
}

/** Copies whole lines, so that lines of different writers do not interleave. Reading pauses until they are written. */
function copyLines(reader: number, to: Writable): Promise<void> {
  const from = new Socket({ fd: reader, readable: true, writable: false });
  // The copy must not keep the process running.
  from.unref();
  let rest: Buffer = Buffer.alloc(0);
  const write = (chunk: Buffer): Promise<void> =>
    new Promise((resolve) => {
      if (chunk.length === 0) resolve();
      else to.write(chunk, () => resolve());
    });
  let written = Promise.resolve();
  from.on("data", (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk]);
    const end = bytes.length > MAX_LINE_BYTES ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    from.pause();
    written = write(bytes.subarray(0, end)).then(() => void from.resume());
  });
  from.on("error", () => undefined);
  return new Promise((resolve) => {
    from.once("close", () => void written.then(() => write(rest)).then(resolve));
  });
}

import { execFile } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { promisify } from "node:util";
import { reasonOf } from "../errors.js";
import type { Log } from "../log.js";

/** Standard output or standard error of a child that opens it again by its path, such as /dev/stdout. */
export interface ReopenableOutput {
  /** For `stdio` of `child_process.spawn`. */
  readonly stdio: number | "inherit";
  /** Closes this process's copy of the descriptor, once the child has its own. */
  closeWriter(): void;
  /** Settles when the child has closed its end and everything is copied. */
  readonly copied: Promise<void>;
}

const DEVICES = { stdout: "/dev/stdout", stderr: "/dev/stderr" } as const;
const LONGEST_LINE = 65_536;
const NEWLINE = 10;

/**
 * Returns an output that a child can open by its path.
 *
 * Opening /dev/stdout opens whatever descriptor 1 is. A socket cannot be opened (ENXIO), nor can a pipe or a terminal
 * of another user (EACCES). In these cases the child is given a FIFO without a name, and what it writes is copied, by
 * whole lines, to this process's output.
 *
 * @param directory place for the FIFO while it is opened; created if absent
 */
export async function reopenableOutput(
  name: "stdout" | "stderr",
  directory: string,
  log: Log,
): Promise<ReopenableOutput> {
  const inherited: ReopenableOutput = { stdio: "inherit", closeWriter: () => undefined, copied: Promise.resolve() };
  const obstacle = whyNotOpenable(DEVICES[name]);
  if (obstacle === undefined) return inherited;
  try {
    const { reader, writer } = await makePipe(join(directory, `${name}-${process.pid}.fifo`), directory);
    return { stdio: writer, closeWriter: () => closeSync(writer), copied: copyLines(reader, process[name]) };
  } catch (error) {
    log.warn(
      `${DEVICES[name]} cannot be opened (${obstacle}) and no pipe can be made (${reasonOf(error)}): Envoy rejects listeners with an access log there`,
    );
    return inherited;
  }
}

function whyNotOpenable(device: string): string | undefined {
  try {
    closeSync(openSync(device, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Node makes no pipes other than sockets, so this one is a FIFO that loses its name as soon as both ends are open. */
async function makePipe(path: string, directory: string): Promise<{ reader: number; writer: number }> {
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

/**
 * Copies whole lines, so that lines of different writers do not mix. Reads no more before the last piece is written.
 */
function copyLines(reader: number, to: Writable): Promise<void> {
  const from = new Socket({ fd: reader, readable: true, writable: false });
  // Whoever embeds the agent may end before Envoy does.
  from.unref();
  let rest: Buffer = Buffer.alloc(0);
  const write = (piece: Buffer): Promise<void> =>
    new Promise((resolve) => {
      if (piece.length === 0) resolve();
      else to.write(piece, () => resolve());
    });
  let written = Promise.resolve();
  from.on("data", (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk]);
    const end = bytes.length > LONGEST_LINE ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    from.pause();
    written = write(bytes.subarray(0, end)).then(() => void from.resume());
  });
  from.on("error", () => undefined);
  return new Promise((resolve) => {
    from.once("close", () => void written.then(() => write(rest)).then(resolve));
  });
}

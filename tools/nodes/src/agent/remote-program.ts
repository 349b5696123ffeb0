import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Duplex, Writable } from "node:stream";
import { inTerminal, resizeTerminal, type TerminalSize } from "./terminal.js";

/** A program whose streams are those of a client of the API server. */
export interface RemoteProgram {
  /** Output of the program, until it ends. */
  readonly outputs: AsyncIterable<ProgramOutput>;
  /** The exit status, after the outputs. */
  readonly status: Promise<number>;
  /** Writes input; null is its end. Without one, input is ignored. */
  readonly write?: (input: Buffer | null) => void;
  readonly resize?: (size: TerminalSize) => void;
  /** The client is gone. */
  readonly leave: () => void;
}

export interface ProgramOutput {
  readonly stream: 1 | 2;
  readonly content: Buffer;
}

const INPUT = 0;
const STATUS = 3;
const SIZE = 4;
const HEADER = 5;

/**
 * Copies between a program and the API server's connection, as frames: one byte with the number of the stream, the
 * length in 32 bits, and the bytes. From the API server come the input, of which an empty frame is the end, and sizes
 * of the terminal in JSON. The last frame to it has the exit status in JSON.
 */
export async function serveProgram(connection: Duplex, program: RemoteProgram): Promise<void> {
  connection.once("close", program.leave);
  // Connections of the server are open for output after the end of their input, which is that of the client here.
  connection.once("end", () => connection.destroy());
  let received = Buffer.alloc(0);
  connection.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= HEADER && received.length >= HEADER + received.readUInt32BE(1)) {
      const end = HEADER + received.readUInt32BE(1);
      receive(program, received.readUInt8(0), received.subarray(HEADER, end));
      received = received.subarray(end);
    }
  });
  const send = async (stream: number, content: Buffer): Promise<void> => {
    const header = Buffer.alloc(HEADER);
    header.writeUInt8(stream);
    header.writeUInt32BE(content.length, 1);
    if (!connection.write(Buffer.concat([header, content])) && !connection.destroyed)
      await Promise.race([once(connection, "drain"), once(connection, "close")]);
  };
  for await (const { stream, content } of program.outputs) {
    if (connection.destroyed) return;
    await send(stream, content);
  }
  await send(STATUS, Buffer.from(JSON.stringify(await program.status)));
  connection.end();
}

function receive(program: RemoteProgram, stream: number, content: Buffer): void {
  if (stream === INPUT) program.write?.(content.length === 0 ? null : content);
  else if (stream === SIZE) program.resize?.(JSON.parse(content.toString()) as TerminalSize);
}

/** Starts a command with the streams that a client asks for. */
export function startProgram(
  command: readonly string[],
  { hasInput, isTerminal }: { readonly hasInput: boolean; readonly isTerminal: boolean },
): RemoteProgram {
  const [file = "", ...args] = isTerminal ? inTerminal(command) : command;
  // A terminal whose input ends hangs up, so that one without input has an open one.
  const child = spawn(file, args, { stdio: [hasInput || isTerminal ? "pipe" : "ignore", "pipe", "pipe"] });
  child.stdin?.on("error", () => undefined);
  return {
    outputs: outputsOf(child),
    status: statusOf(child),
    ...(hasInput && child.stdin && { write: writerTo(child.stdin) }),
    ...(isTerminal && { resize: (size) => void resizeTerminal(child.pid ?? 0, size) }),
    leave: () => void child.kill("SIGKILL"),
  };
}

/** Returns a function that writes input, or ends it. */
export function writerTo(input: Writable): (bytes: Buffer | null) => void {
  return (bytes) => void (bytes === null ? input.end() : input.write(bytes));
}

async function statusOf(child: ChildProcess): Promise<number> {
  const [status, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return status ?? 128 + constants.signals[signal ?? "SIGKILL"];
}

/** Yields both outputs in the order of their arrival. */
async function* outputsOf(child: ChildProcess): AsyncGenerator<ProgramOutput> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) return;
  const waiting: ProgramOutput[] = [];
  let open = 2;
  let wake = (): void => undefined;
  for (const [stream, from] of [
    [1, stdout],
    [2, stderr],
  ] as const) {
    from.on("data", (content: Buffer) => {
      waiting.push({ stream, content });
      from.pause();
      wake();
    });
    from.once("close", () => {
      open--;
      wake();
    });
  }
  while (open > 0 || waiting.length > 0) {
    const next = waiting.shift();
    if (next === undefined) {
      await new Promise<void>((resolve) => (wake = resolve));
      continue;
    }
    yield next;
    (next.stream === 1 ? stdout : stderr).resume();
  }
}

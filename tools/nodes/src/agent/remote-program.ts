import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Duplex, Writable } from "node:stream";
import { childOf } from "./processes.js";
import { inTerminal, resizeTerminal, type TerminalSize } from "./terminal.js";
import { untilWritable } from "./until-writable.js";

/** A program whose streams are those of a client of the API server. */
export interface RemoteProgram {
  /** Output of the program, until it ends. */
  readonly outputs: AsyncIterable<ProgramOutput>;
  /** The exit status, after the outputs. */
  readonly status: Promise<number>;
  /** Writes input; null is its end. Resolves when there is room for more. Without one, input is ignored. */
  readonly write?: (input: Buffer | null) => Promise<void>;
  readonly resize?: (size: TerminalSize) => void;
  /** Ends what was started for the client, which is gone. The outputs end then. */
  readonly leave: () => void;
}

export interface ProgramOutput {
  readonly stream: 1 | 2;
  readonly content: Buffer;
}

const INPUT = 0;
const OUTPUT = 1;
const STATUS = 3;
const SIZE = 4;
const HEADER = 5;
const PROBE_INTERVAL = 1000;

/**
 * Copies between a program and the API server's connection, as frames: one byte with the number of the stream, the
 * length in 32 bits, and the bytes. From the API server come the input, of which an empty frame is the end, and sizes
 * of the terminal in JSON. The last frame to it has the exit status in JSON.
 *
 * Nothing is read while the program takes no input. An empty output is then sent each second, which fails if the client
 * is gone.
 */
export async function serveProgram(connection: Duplex, program: RemoteProgram): Promise<void> {
  if (connection.destroyed) return program.leave();
  connection.once("close", program.leave);
  // Connections of the server are open for output after the end of their input, which is that of the client here.
  connection.once("end", () => connection.destroy());
  const send = async (stream: number, content: Buffer): Promise<void> => {
    const header = Buffer.alloc(HEADER);
    header.writeUInt8(stream);
    header.writeUInt32BE(content.length, 1);
    if (!connection.write(Buffer.concat([header, content]))) await untilWritable(connection);
  };
  let received = Buffer.alloc(0);
  const receiveFrames = async (): Promise<void> => {
    while (received.length >= HEADER && received.length >= HEADER + received.readUInt32BE(1)) {
      const end = HEADER + received.readUInt32BE(1);
      await receive(program, received.readUInt8(0), received.subarray(HEADER, end));
      received = received.subarray(end);
    }
  };
  connection.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    connection.pause();
    const probe = setInterval(() => {
      if (!connection.writableNeedDrain) void send(OUTPUT, Buffer.alloc(0));
    }, PROBE_INTERVAL);
    receiveFrames()
      .then(() => connection.resume())
      .catch(() => connection.destroy())
      .finally(() => clearInterval(probe));
  });
  for await (const { stream, content } of program.outputs) {
    if (connection.destroyed) return;
    await send(stream, content);
  }
  if (connection.destroyed) return;
  await send(STATUS, Buffer.from(JSON.stringify(await program.status)));
  connection.end();
}

async function receive(program: RemoteProgram, stream: number, content: Buffer): Promise<void> {
  if (stream === INPUT) await program.write?.(content.length === 0 ? null : content);
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
    leave: () => void killWithChild(child),
  };
}

/** Returns a function that writes input, or ends it, and resolves when there is room for more. */
export function writerTo(input: Writable): (bytes: Buffer | null) => Promise<void> {
  return async (bytes) => {
    if (bytes === null) input.end();
    else if (!input.write(bytes)) await untilWritable(input);
  };
}

/** Kills a command and its child: `nsenter` starts the program in the processes of a container, and waits for it. */
async function killWithChild(command: ChildProcess): Promise<void> {
  const program = command.pid === undefined ? undefined : await childOf(command.pid);
  command.kill("SIGKILL");
  if (program === undefined) return;
  try {
    process.kill(program, "SIGKILL");
  } catch {
    // It has ended.
  }
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

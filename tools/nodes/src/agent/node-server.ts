import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { LogSelection } from "./container-logs.js";
import { forwardToPod, type PodNetworkEntry } from "./port-forward.js";

/** A command for a container, as the API server of `tools/cluster` sends it. */
interface ExecRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
}

/**
 * Returns a command that runs in a container.
 *
 * @throws Error if the container does not run
 */
export type Inside = (request: ExecRequest) => Promise<readonly string[]>;

/** A container whose output is asked for. */
export interface LogRequest extends LogSelection {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/**
 * Returns the output of a container.
 *
 * @throws Error if there is none
 */
export type Logs = (request: LogRequest) => AsyncIterable<Buffer>;

interface NodeAnswers {
  readonly inside: Inside;
  readonly logs: Logs;
  readonly network: PodNetworkEntry;
}

const STDOUT = 1;
const STDERR = 2;
const EXIT_STATUS = 3;

/**
 * Answers the API server's requests on a Unix socket, to which only this user can connect: `/exec` executes a command
 * in a container, `/logs` sends what a container has written, and an upgrade of `/forward` connects to a port of a pod.
 * An error is a response with status 400 and its text.
 *
 * @returns a function that stops the server, and the commands and connections that still run
 */
export async function startNodeServer(socket: string, { inside, logs, network }: NodeAnswers): Promise<() => void> {
  const server = createServer((request, response) => {
    const answer = request.url === "/logs" ? sendLogs(request, response, logs) : execute(request, response, inside);
    answer.catch((error: unknown) => {
      if (response.headersSent) return response.destroy();
      return response.writeHead(400).end(error instanceof Error ? error.message : String(error));
    });
  });
  const forwarded = new Set<Duplex>();
  server.on("upgrade", (request, connection) => {
    forwarded.add(connection.once("close", () => forwarded.delete(connection)));
    forwardToPod(request.url ?? "", connection, network);
  });
  server.listen({ path: socket });
  await once(server, "listening");
  return () => {
    server.close();
    server.closeAllConnections();
    for (const connection of forwarded) connection.destroy();
  };
}

async function sendLogs(request: IncomingMessage, response: ServerResponse, logs: Logs): Promise<void> {
  const parts = logs(JSON.parse(await text(request)) as LogRequest)[Symbol.asyncIterator]();
  // The head is sent when it is known that there is a log.
  let part = await parts.next();
  response.writeHead(200).flushHeaders();
  response.once("close", () => void parts.return?.());
  for (; part.done !== true && !response.closed; part = await parts.next())
    if (!response.write(part.value)) await Promise.race([once(response, "drain"), once(response, "close")]);
  response.end();
}

/**
 * Executes a command. The response is a sequence of frames: one byte with the number of the output, the length in 32
 * bits, and the bytes. The last frame has the exit status in decimal.
 */
async function execute(request: IncomingMessage, response: ServerResponse, inside: Inside): Promise<void> {
  const [file = "", ...args] = await inside(JSON.parse(await text(request)) as ExecRequest);
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  response.once("close", () => void child.kill("SIGKILL"));
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const copied = Promise.all([copy(STDOUT, child.stdout, response), copy(STDERR, child.stderr, response)]);
  const [[status, signal]] = await Promise.all([ended, copied]);
  const code = status ?? 128 + constants.signals[signal ?? "SIGKILL"];
  response.end(frameOf(EXIT_STATUS, Buffer.from(String(code))));
}

/** Copies an output as frames. If the response is closed before, the output is destroyed. */
function copy(stream: number, from: Readable, to: ServerResponse): Promise<void> {
  const frames = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) yield frameOf(stream, chunk);
  };
  return pipeline(from, frames, to, { end: false });
}

function frameOf(stream: number, content: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt8(stream);
  header.writeUInt32BE(content.length, 1);
  return Buffer.concat([header, content]);
}

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import type { LogSelection } from "./container-logs.js";
import { forwardToPod, type PodNetworkEntry, refuseUpgrade } from "./port-forward.js";
import { type RemoteProgram, serveProgram } from "./remote-program.js";
import { untilWritable } from "./until-writable.js";

/** A program of a container that a client wants the streams of, as the API server of `tools/cluster` asks for it. */
export interface ProgramRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Null for the program of the container itself. */
  readonly command: readonly string[] | null;
  readonly stdin: boolean;
  readonly tty: boolean;
}

/**
 * Returns a program of a container.
 *
 * @throws Error if the container does not run
 */
type Programs = (request: ProgramRequest) => Promise<RemoteProgram>;

/** A container whose output is asked for. */
export interface LogRequest extends LogSelection {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/**
 * Returns the output of a container, until the signal is aborted.
 *
 * @throws Error if there is none
 */
export type Logs = (request: LogRequest, signal: AbortSignal) => AsyncIterable<Buffer>;

interface NodeAnswers {
  /** Starts a command in a container. */
  readonly exec: Programs;
  /** Joins the program of a container. */
  readonly attach: Programs;
  readonly logs: Logs;
  readonly network: PodNetworkEntry;
}

/**
 * Answers the API server's requests on a Unix socket, to which only this user can connect: `/logs` sends what a
 * container has written, and an upgrade of `/exec` starts a command in a container, of `/attach` joins its program, and
 * of `/forward` connects to a port of a pod. An error is a response with status 400 and its text.
 *
 * @returns a function that stops the server, its connections, and the commands that were started for them. What these
 *   have started themselves ends with its container.
 */
export async function startNodeServer(socket: string, answers: NodeAnswers): Promise<() => void> {
  const server = createServer((request, response) => {
    sendLogs(request, response, answers.logs).catch((error: unknown) => {
      if (response.headersSent) return response.destroy();
      return response.writeHead(400).end(messageOf(error));
    });
  });
  const forwarded = new Set<Duplex>();
  server.on("upgrade", (request, connection) => {
    forwarded.add(connection.once("close", () => forwarded.delete(connection)));
    const url = new URL(request.url ?? "", "http://node");
    if (url.pathname === "/forward") return forwardToPod(url, connection, answers.network);
    void upgradeToProgram(url, connection, url.pathname === "/attach" ? answers.attach : answers.exec);
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
  const left = new AbortController();
  response.once("close", () => left.abort());
  const parts = logs(JSON.parse(await text(request)) as LogRequest, left.signal)[Symbol.asyncIterator]();
  // The head is sent when it is known that there is a log.
  let part = await parts.next();
  response.writeHead(200).flushHeaders();
  for (; part.done !== true && !response.closed; part = await parts.next())
    if (!response.write(part.value)) await untilWritable(response);
  await parts.return?.();
  response.end();
}

/** Answers with the streams of a program, or with the reason for which there is none. */
async function upgradeToProgram(url: URL, connection: Duplex, programs: Programs): Promise<void> {
  connection.on("error", () => connection.destroy());
  try {
    const program = await programs(JSON.parse(url.searchParams.get("question") ?? "") as ProgramRequest);
    connection.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    await serveProgram(connection, program);
  } catch (error) {
    refuseUpgrade(connection, messageOf(error));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

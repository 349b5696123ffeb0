import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { encodeFrame } from "@istiod/protobuf-wire";

/** `grpc.health.v1.HealthCheckResponse` with the status SERVING. */
const SERVING = Buffer.from([0x08, 0x01]);

/** Runs a server that answers HTTP requests with what it received, returns TCP data, and is healthy over gRPC. */
export function runEcho(args: readonly string[]): void {
  const { values } = parseArgs({
    args: [...args],
    options: {
      http: { type: "string", multiple: true, default: ["8080"] },
      tcp: { type: "string", multiple: true, default: [] },
      grpc: { type: "string", multiple: true, default: [] },
      version: { type: "string", default: "" },
    },
  });
  const servers = [
    ...values.http.map((port) =>
      listen(
        createHttpServer((request, response) => answer(request, response, values.version)),
        port,
      ),
    ),
    ...values.tcp.map((port) =>
      listen(
        createTcpServer((socket) => void socket.on("error", () => undefined).pipe(socket)),
        port,
      ),
    ),
    ...values.grpc.map((port) => listen(createHttp2Server().on("stream", answerHealth), port)),
  ];
  process.once("SIGTERM", () => {
    process.stdout.write("SIGTERM\n");
    for (const server of servers) server.close();
    // Idle connections would keep the server running.
    for (const server of servers) if ("closeIdleConnections" in server) server.closeIdleConnections();
  });
}

function listen<S extends { listen(port: number, done: () => void): unknown }>(server: S, port: string): S {
  server.listen(Number(port), () => process.stdout.write(`listening on ${port}\n`));
  return server;
}

/** The path `/status/<code>` selects the status, and `/delay/<ms>` answers later. */
function answer(request: IncomingMessage, response: ServerResponse, version: string): void {
  const { method, url = "/", headers } = request;
  const [, kind, number] = /^\/(status|delay)\/(\d+)$/.exec(url) ?? [];
  const body = JSON.stringify({ host: hostname(), version, method, path: url, headers });
  request.resume();
  setTimeout(
    () => {
      response.writeHead(kind === "status" ? Number(number) : 200, { "content-type": "application/json" });
      response.end(`${body}\n`);
    },
    kind === "delay" ? Number(number) : 0,
  );
}

function answerHealth(stream: ServerHttp2Stream): void {
  stream.on("error", () => undefined);
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(encodeFrame(SERVING));
}

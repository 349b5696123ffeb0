import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { type ClusterAccess } from "@istiod/kubernetes";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: IncomingMessage["headers"];
}

export type Answer = (response: ServerResponse, received: Received) => void;

/** An HTTP server that answers requests by a script, and fails requests that the script does not expect. */
export class ScriptedServer {
  readonly received: Received[] = [];
  readonly #answers: Answer[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<ScriptedServer> {
    const server = createServer();
    const scripted = new ScriptedServer(server);
    server.on("request", (request, response) => scripted.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return scripted;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  access(extra: Partial<ClusterAccess["cluster"]> = {}): ClusterAccess {
    return { cluster: { name: "test", server: this.url, skipTLSVerify: false, ...extra } };
  }

  /** Adds the answers to the next requests. */
  reply(...answers: Answer[]): void {
    this.#answers.push(...answers);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", "http://server");
    const received = {
      method: request.method ?? "",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
    };
    this.received.push(received);
    const answer = this.#answers.shift() ?? status(500, "the script has no answer");
    answer(response, received);
  }
}

export function json(body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) =>
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function gzipped(body: unknown): Answer {
  return (response) =>
    response
      .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
      .end(gzipSync(JSON.stringify(body)));
}

export function status(code: number, message: string, reason = "", headers: Record<string, string> = {}): Answer {
  return (response) =>
    response
      .writeHead(code, { "content-type": "application/json", ...headers })
      .end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, reason, code }));
}

/** The message that ends the initial events of a watch. */
export const endOfInitialEvents = {
  type: "BOOKMARK",
  object: { kind: "Pod", metadata: { resourceVersion: "30", annotations: { "k8s.io/initial-events-end": "true" } } },
};

/** A watch that stays open for further messages. */
export class ScriptedWatch {
  #response: ServerResponse | undefined;

  readonly answer: Answer = (response) => {
    this.#response = response;
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
  };

  get isOpen(): boolean {
    return this.#response !== undefined && !this.#response.destroyed && !this.#response.writableEnded;
  }

  send(type: string, object: unknown): void {
    this.sendAll({ type, object });
  }

  /** Sends messages in one write. */
  sendAll(...messages: readonly object[]): void {
    this.#response!.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  }

  bookmark(resourceVersion: string, endsInitialEvents = false): void {
    const annotations = endsInitialEvents ? { "k8s.io/initial-events-end": "true" } : undefined;
    this.send("BOOKMARK", { kind: "Pod", metadata: { resourceVersion, annotations } });
  }

  end(): void {
    this.#response!.end();
  }

  reset(): void {
    this.#response!.destroy();
  }
}

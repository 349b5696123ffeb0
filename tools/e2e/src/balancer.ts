import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** The address of a server behind a balancer. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * A TCP load balancer that stands for a port of a Service: each new connection goes to the next endpoint. A connection
 * that an endpoint refuses goes to another one, since the process behind it has ended and its endpoint is about to be
 * removed. Open connections stay where they are.
 */
export class Balancer {
  readonly host: string;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #endpoints: readonly Endpoint[] = [];
  #next = 0;

  private constructor(server: Server, { host, port }: Endpoint) {
    this.#server = server;
    this.host = host;
    this.port = port;
    server.on("connection", (client) => void this.#accept(client));
  }

  static async listen(at: Endpoint): Promise<Balancer> {
    const server = createServer({ pauseOnConnect: true }).listen(at.port, at.host);
    await once(server, "listening");
    return new Balancer(server, at);
  }

  /** Sets the endpoints of new connections. Without any, connections are closed. */
  use(endpoints: readonly Endpoint[]): void {
    this.#endpoints = endpoints;
  }

  /** Ends all open connections. */
  endConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.endConnections();
    await closed;
  }

  async #accept(client: Socket): Promise<void> {
    this.#hold(client);
    const endpoints = this.#endpoints;
    const first = this.#next++;
    for (let at = 0; at < endpoints.length; at++) {
      const endpoint = endpoints[(first + at) % endpoints.length];
      const server = endpoint && (await connected(endpoint));
      if (server === undefined) continue;
      this.#hold(server);
      return join(client, server);
    }
    client.destroy();
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
  }
}

/** Connects; undefined if the connection is refused. */
function connected(endpoint: Endpoint): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(endpoint);
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(undefined));
  });
}

function join(client: Socket, server: Socket): void {
  if (client.destroyed) return void server.destroy();
  client.on("close", () => server.destroy());
  server.on("close", () => client.destroy());
  client.pipe(server).pipe(client);
}

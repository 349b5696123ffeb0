import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A TCP relay before a server, which fails as a machine or a network does. */
export class Relay {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>();
  #server: Server | undefined;
  #port = 0;
  #stallsNew = false;

  constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
  }

  /** Port on the loopback address; the same one for as long as the relay exists. */
  get port(): number {
    return this.#port;
  }

  /** Accepts connections. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((client) => this.#accept(client));
    this.#server = server;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Resets all connections and refuses new ones, as after the end of the server's process. */
  async cut(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
    await closed;
  }

  /**
   * Transfers nothing from now on, without closing connections.
   *
   * @param connections `all`: new ones too, as with a machine that hangs. `open`: only those that are open, as when a
   *   router forgets them
   */
  stall(connections: "all" | "open"): void {
    this.#stallsNew = connections === "all";
    for (const [client, server] of this.#pairs) stop(client, server);
  }

  /** Continues after `stall`. */
  resume(): void {
    this.#stallsNew = false;
    for (const [client, server] of this.#pairs) start(client, server);
  }

  #accept(client: Socket): void {
    const server = connect(this.#target);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
    if (!this.#stallsNew) start(client, server);
  }
}

function start(client: Socket, server: Socket): void {
  client.pipe(server);
  server.pipe(client);
}

function stop(client: Socket, server: Socket): void {
  for (const socket of [client, server]) {
    socket.unpipe();
    socket.pause();
  }
}

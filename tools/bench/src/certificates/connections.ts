import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Address } from "@istiod/xds-server/testing";

/**
 * Handshakes of this process at the same time. With more, it answers its own late, and istiod takes that for slow
 * clients, whose places others get.
 */
const maxHandshakes = 64;

/** A connection that is established. */
export interface Connection {
  /** The address, with the connection as the one that an HTTP/2 client gets. */
  readonly address: Address;
  /** Gives the place of a connection that was closed. */
  release(): void;
}

/** Opens a bounded number of connections. Others wait for a place. */
export class Connections {
  readonly #open: Places;
  readonly #handshakes = new Places(maxHandshakes);

  constructor(maxOpen: number) {
    this.#open = new Places(maxOpen);
  }

  /** @throws Error if the connection is not established */
  async open(address: Address): Promise<Connection> {
    await this.#open.take();
    await this.#handshakes.take();
    try {
      const socket = await establish(address);
      const createConnection = (): Socket => socket;
      return { address: { ...address, tls: { createConnection } }, release: () => this.#open.give() };
    } catch (error) {
      this.#open.give();
      throw error;
    } finally {
      this.#handshakes.give();
    }
  }
}

function establish({ host, port, tls, localAddress }: Address): Promise<Socket> {
  const to = { host, port, ...(localAddress !== undefined && { localAddress }) };
  return new Promise((resolve, reject) => {
    const socket = tls === undefined ? connectTcp(to) : connectTls({ ...to, ...tls, ALPNProtocols: ["h2"] });
    socket.once("error", reject);
    socket.once(tls === undefined ? "connect" : "secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

/** Places that are taken in the order in which they are asked for. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(free: number) {
    this.#free = free;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

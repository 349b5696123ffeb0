import type { View } from "../api.js";
import { Client, type Root } from "./client.js";

/** The clients of a database whose views are not released. */
export class Clients {
  readonly #clients = new Set<Client>();
  readonly #nextState = (): number => ++this.#states;
  #states = 0;
  #followed = 0;
  /** Roots that were followed when all records were dropped. */
  #reset: Root[] = [];

  get size(): number {
    return this.#clients.size;
  }

  /** The number of followed results. */
  get followed(): number {
    return this.#followed;
  }

  [Symbol.iterator](): Iterator<Client> {
    return this.#clients.values();
  }

  add(view: View<unknown>, value: unknown): Client {
    const client = new Client(view, value, this.#nextState);
    this.#clients.add(client);
    return client;
  }

  delete(client: Client): void {
    this.#clients.delete(client);
  }

  follow(root: Root): void {
    root.followed = true;
    this.#followed++;
  }

  unfollow(root: Root): void {
    if (!root.followed) return;
    root.followed = false;
    this.#followed--;
  }

  /** Drops the answers and roots of all clients. */
  reset(): void {
    for (const client of this.#clients) {
      for (const root of client.roots.values()) if (root.followed) this.#reset.push(root);
      client.reset();
    }
    this.#followed = 0;
  }

  /** Returns the roots that were followed at resets since the last call, without those of released clients. */
  takeReset(): readonly Root[] {
    return this.#reset.length === 0
      ? this.#reset
      : this.#reset.splice(0).filter(({ client }) => this.#clients.has(client));
  }
}

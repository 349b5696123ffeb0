import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { TrafficAnswer, TrafficFigures, TrafficOrder, TrafficSettings } from "./traffic-messages.js";

/** The built file, even if this file runs from source. */
const program = fileURLToPath(new URL("../../dist/data-plane/traffic-worker.js", import.meta.url));

type Order = TrafficOrder extends infer O ? (O extends TrafficOrder ? Omit<O, "id"> : never) : never;

/** A steady rate of requests from clients to servers, in a thread of its own. */
export class Traffic {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (answer: TrafficAnswer) => void>();
  readonly #failed: Promise<never>;
  #orders = 0;

  constructor(settings: TrafficSettings) {
    this.#worker = new Worker(program, { workerData: settings });
    this.#failed = new Promise((_, reject) => this.#worker.once("error", reject));
    this.#failed.catch(() => undefined);
    this.#worker.on("message", (answer: TrafficAnswer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /** Starts the application of a pod. */
  async open(address: string, port: number): Promise<void> {
    await this.#order({ kind: "open", address, port });
  }

  /** Ends the application of a pod. */
  async closeApplication(address: string, port: number): Promise<void> {
    await this.#order({ kind: "close", address, port });
  }

  /** Sends requests through the proxies at these addresses. Resolves when none waits for an answer by another one. */
  async use(addresses: readonly string[]): Promise<void> {
    await this.#order({ kind: "clients", addresses });
  }

  /** Returns the figures since the last call. */
  async take(): Promise<TrafficFigures> {
    const { figures } = await this.#order({ kind: "take" });
    if (figures === undefined) throw new Error("the worker gave no figures");
    return figures;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #order(order: Order): Promise<TrafficAnswer> {
    const id = this.#orders++;
    const answered = new Promise<TrafficAnswer>((resolve) => this.#waiting.set(id, resolve));
    this.#worker.postMessage({ ...order, id });
    return Promise.race([answered, this.#failed]);
  }
}

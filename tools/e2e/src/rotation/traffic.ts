import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { TrafficAnswer, TrafficFigures, TrafficOrder, TrafficSettings } from "./traffic-messages.js";

/** The built file, even if this file runs from source. */
const program = fileURLToPath(new URL("../../dist/rotation/traffic-worker.js", import.meta.url));

/** A steady rate of requests from one proxy to another, in a thread of its own. */
export class Traffic {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (answer: TrafficAnswer) => void>();
  readonly #failed: Promise<never>;
  #orders = 0;

  private constructor(settings: TrafficSettings) {
    this.#worker = new Worker(program, { workerData: settings });
    this.#failed = new Promise((_, reject) => this.#worker.once("error", reject));
    this.#failed.catch(() => undefined);
    this.#worker.on("message", (answer: TrafficAnswer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /**
   * Starts the application and the client.
   *
   * @param peers SPIFFE identities of which the application must know the client by one
   */
  static async start(settings: TrafficSettings, peers: readonly string[]): Promise<Traffic> {
    const traffic = new Traffic(settings);
    try {
      await traffic.expectPeers(peers);
      await traffic.#order({ kind: "start" });
      return traffic;
    } catch (error) {
      await traffic.close();
      throw error;
    }
  }

  async expectPeers(peers: readonly string[]): Promise<void> {
    await this.#order({ kind: "peers", peers });
  }

  /** Returns the figures since the last call. */
  async take(): Promise<TrafficFigures> {
    const { figures } = await this.#order({ kind: "take" });
    if (figures === undefined) throw new Error("the worker gave no figures");
    return figures;
  }

  /** Returns the number of requests that were answered since the start. */
  async count(): Promise<number> {
    return (await this.#order({ kind: "count" })).count ?? 0;
  }

  /** Ends sending, and waits for the last answers. */
  async finish(): Promise<void> {
    await this.#order({ kind: "finish" });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #order(order: TrafficOrder): Promise<TrafficAnswer> {
    const id = this.#orders++;
    const answered = new Promise<TrafficAnswer>((resolve) => this.#waiting.set(id, resolve));
    this.#worker.postMessage({ id, order });
    return Promise.race([answered, this.#failed]);
  }
}

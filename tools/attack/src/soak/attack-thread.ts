import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { AttackedIstiod } from "../target/istiod-target.js";

/** An attack to run in the thread, with its target as data. */
export interface AttackCommand {
  readonly name: string;
  readonly scale: number;
  readonly target: Omit<AttackedIstiod, "tokens"> & {
    readonly tokens: { readonly directory: string; readonly byId: readonly (readonly [id: string, token: string])[] };
  };
}

/** The line that the attack returned, or the message of the error that it threw. */
export type AttackOutcome = { readonly sent: string } | { readonly failed: string };

/** Built file, even if this file runs from source. */
const worker = new URL("../../dist/soak/attack-worker.js", import.meta.url);

/** Runs attacks in a thread of their own, so that they do not delay the event loop of the honest proxies. */
export class AttackThread {
  readonly #worker = new Worker(worker, { execArgv: [] });

  /**
   * Runs an attack. One runs at a time.
   *
   * @throws Error if the thread ends by an error that the attack did not catch
   */
  async run(
    name: string,
    { istiod, ports, places, tokens, caDirectory }: AttackedIstiod,
    scale: number,
  ): Promise<AttackOutcome> {
    const byId = places.map((place) => [place.id, tokens.of(place)] as const);
    const target = {
      istiod: { xds: istiod.xds, http: istiod.http },
      ports,
      places,
      caDirectory,
      tokens: { directory: tokens.directory, byId },
    };
    this.#worker.postMessage({ name, scale, target } satisfies AttackCommand);
    const [outcome] = (await once(this.#worker, "message")) as [AttackOutcome];
    return outcome;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

import { PeerGroups } from "../limits/peer-groups.js";
import type { PeerKey } from "../limits/peer-key.js";

/** Runs tasks of peers, few in a turn of the event loop, and one of each peer after the other. */
export class PacedTasks {
  readonly #perTurn: number;
  readonly #waiting = new PeerGroups<() => void>();
  /** Tasks that may still run in this turn. */
  #left: number;
  #isScheduled = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Runs a task, at once if the tasks of this turn are not used up. */
  run(peer: PeerKey, task: () => void): void {
    this.#schedule();
    if (this.#left > 0 && this.#waiting.size === 0) {
      this.#left--;
      task();
    } else this.#waiting.add(peer, task);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (this.#left = this.#perTurn; this.#left > 0; this.#left--) {
        const task = this.#next();
        if (task === undefined) return;
        task();
      }
      this.#schedule();
    });
  }

  #next(): (() => void) | undefined {
    const peer = this.#waiting.peers.next().value;
    const task = peer === undefined ? undefined : this.#waiting.of(peer).values().next().value;
    if (peer === undefined || task === undefined) return undefined;
    this.#waiting.delete(peer, task);
    this.#waiting.moveToEnd(peer);
    return task;
  }
}

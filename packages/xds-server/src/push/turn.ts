import type { Clock } from "../clock.js";

/** As many revisions are remembered for a client whose turn does not come. */
const revisionsKept = 256;

/** What a client waits for because the source changed: from the change, over its turn in the queue, until all of it is handed over. */
export class Turn {
  readonly #clock: Clock;
  #waiting: number[] = [];
  #since = 0;
  #owed: number | undefined;
  /** The turn that is being served: since when it was waited for. */
  #serving: { readonly since: number; responses: number; bytes: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The oldest revision that is waited for or being served. */
  get owed(): number | undefined {
    return this.#owed;
  }

  add(revision: number): void {
    if (this.#waiting.length === 0) this.#since = this.#clock.now();
    this.#owed ??= revision;
    this.#waiting.push(revision);
    if (this.#waiting.length > revisionsKept) this.#waiting.shift();
  }

  /** The turn has come: gives the revisions that were waited for, unless there are none. */
  begin(): { readonly changes: readonly number[]; readonly queueMs: number } | undefined {
    if (this.#waiting.length === 0) return undefined;
    const changes = this.#waiting;
    this.#waiting = [];
    this.#serving ??= { since: this.#since, responses: 0, bytes: 0 };
    return { changes, queueMs: this.#clock.now() - this.#since };
  }

  sent(bytes: number): void {
    if (this.#serving === undefined) return;
    this.#serving.responses++;
    this.#serving.bytes += bytes;
  }

  /** There is nothing left to send: gives what was sent, unless that is nothing. */
  end(): { readonly responses: number; readonly bytes: number; readonly sinceMs: number } | undefined {
    const served = this.#serving;
    this.#serving = undefined;
    this.#owed = undefined;
    return served === undefined || served.responses === 0
      ? undefined
      : { responses: served.responses, bytes: served.bytes, sinceMs: this.#clock.now() - served.since };
  }
}

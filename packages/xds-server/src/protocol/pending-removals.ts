import type { ShownChanges } from "../attribution.js";
import { sliceNames, type Sliced } from "../sliced.js";
import type { Selection } from "../wire/body-cache.js";
import { nothingShown } from "./doubt.js";
import { retryDelay } from "./retry-delay.js";

/** The removals of one type that were in rejected responses, and are sent again. */
export class PendingRemovals {
  readonly #names = new Set<string>();
  readonly #readded = new Set<string>();
  #shown = nothingShown;
  #at = 0;
  /** Rejections of removals alone in a row. */
  #attempts = 0;

  /** Names that are not removed again yet. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /**
   * Names that exist again, in a version that is not answered yet. The client may still list the version that was
   * removed, so that they are removed again if it rejects the new version.
   */
  get readded(): ReadonlySet<string> {
    return this.#readded;
  }

  /** The changes that the rejected response showed. */
  get shown(): ShownChanges {
    return this.#shown;
  }

  get isEmpty(): boolean {
    return this.#names.size + this.#readded.size === 0;
  }

  /** Time from which names are to be removed again; Infinity if there are none. */
  get dueAt(): number {
    return this.#names.size === 0 ? Infinity : this.#at;
  }

  /**
   * Records names whose removal was rejected.
   *
   * @param random a number from 0 to less than 1 if the removals were alone in their response: they wait for a delay
   */
  queue(names: readonly string[], shown: ShownChanges, now: number, random?: number): void {
    for (const name of names) this.#names.add(name);
    this.#shown = shown;
    if (names.length > 0) this.#at = random === undefined ? now : now + retryDelay(++this.#attempts, random);
  }

  /** Records that the resource of a name was rejected, which is removed again if it had been removed before. */
  rejected(name: string, now: number): void {
    if (!this.#readded.delete(name)) return;
    this.#at = Math.min(this.dueAt, now);
    this.#names.add(name);
  }

  /** Records that the client acknowledged a response. */
  *accept({ resources, removed }: Selection): Sliced<void> {
    for (const name of removed) {
      this.#names.delete(name);
      this.#readded.delete(name);
    }
    if (this.#names.size === 0) this.#attempts = 0;
    let handled = 0;
    for (const { name } of this.#readded.size === 0 ? [] : resources) {
      if (++handled % sliceNames === 0) yield 0;
      this.#readded.delete(name);
    }
  }

  /**
   * Takes the due names to remove. Those that exist are kept until their new versions are answered.
   *
   * @param isGone reports whether the client must not have a resource of a name
   */
  take(now: number, isGone: (name: string) => boolean): readonly string[] {
    if (now < this.#at) return [];
    const gone: string[] = [];
    for (const name of this.#names)
      if (isGone(name)) gone.push(name);
      else this.#readded.add(name);
    this.#names.clear();
    return gone;
  }

  /** Forgets a name that exists again and that the client does not subscribe to any more. */
  unsubscribed(name: string): void {
    this.#readded.delete(name);
  }

  clear(): void {
    this.#names.clear();
    this.#readded.clear();
  }
}

import { briefly, thoroughly } from "../values/fingerprint.js";
import type { Memo } from "./memo.js";

/** Memos with one fingerprint but different values are compared one by one, so only so many are kept. */
const lookAlikes = 32;
const none: readonly Memo[] = [];

/** By how much further values are looked at when too many look alike. */
const furtherLook = 4;

/** Memos by the fingerprints of their values. */
export class Prints {
  readonly #memos = new Map<number, Memo | Memo[]>();
  /** How far values are looked at for their fingerprints. */
  budget = briefly;

  get(fingerprint: number): readonly Memo[] {
    const found = this.#memos.get(fingerprint);
    return found === undefined ? none : Array.isArray(found) ? found : [found];
  }

  add(memo: Memo): void {
    const found = this.#memos.get(memo.fingerprint);
    if (found === undefined) this.#memos.set(memo.fingerprint, memo);
    else if (!Array.isArray(found)) this.#memos.set(memo.fingerprint, [found, memo]);
    else {
      found.push(memo);
      if (found.length > lookAlikes) found.shift();
    }
  }

  delete(memo: Memo): void {
    const found = this.#memos.get(memo.fingerprint);
    if (found === memo) this.#memos.delete(memo.fingerprint);
    else if (Array.isArray(found)) {
      const rest = found.filter((other) => other !== memo);
      if (rest.length === 0) this.#memos.delete(memo.fingerprint);
      else this.#memos.set(memo.fingerprint, rest);
    }
  }

  /** Has all values looked at further. False where that was done before, as far as is worth it. */
  lookFurther(printOf: (memo: Memo, budget: number) => number): boolean {
    if (this.budget >= thoroughly) return false;
    this.budget = Math.min(thoroughly, this.budget * furtherLook);
    const memos = [...this.#memos.values()].flat();
    this.#memos.clear();
    for (const memo of memos) {
      memo.fingerprint = printOf(memo, this.budget);
      this.add(memo);
    }
    return true;
  }
}

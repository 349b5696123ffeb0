import { deepestBudget, shallowBudget } from "../values/fingerprint.js";
import type { Memo } from "./memo.js";

/** Memos with one fingerprint are compared one by one, so only the last of them are indexed. */
const memosPerFingerprint = 32;
const none: readonly Memo[] = [];

/** The factor by which the budget grows when different values have equal fingerprints. */
const budgetFactor = 4;

/** An index of memos by the fingerprints of their values. */
export class FingerprintIndex {
  readonly #memos = new Map<number, Memo | Memo[]>();
  /** The budget of `fingerprint` for every memo of the index. */
  budget = shallowBudget;

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
      if (found.length > memosPerFingerprint) found.shift();
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

  /** Computes all fingerprints again with a larger budget. Returns false if the budget is the largest already. */
  deepen(fingerprintOf: (memo: Memo, budget: number) => number): boolean {
    if (this.budget >= deepestBudget) return false;
    this.budget = Math.min(deepestBudget, this.budget * budgetFactor);
    const memos = [...this.#memos.values()].flat();
    this.#memos.clear();
    for (const memo of memos) {
      memo.fingerprint = fingerprintOf(memo, this.budget);
      this.add(memo);
    }
    return true;
  }
}

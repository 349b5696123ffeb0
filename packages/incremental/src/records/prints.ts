import type { Memo } from "./memo.js";

/** Memos with one fingerprint but different values are compared one by one, so only so many are kept. */
const lookAlikes = 32;
const none: readonly Memo[] = [];

/** Memos by the fingerprints of their values. */
export class Prints {
  readonly #memos = new Map<number, Memo | Memo[]>();

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
}

import type { Input } from "./input.js";

/** Above this many pending edits, sorting everything once costs less than moving the tail of the list for each. */
const editsInPlace = 16;

/** A set of inputs in order of their keys, by UTF-16 code unit. Edits are cheap and are applied when the order is next asked for. */
export class OrderedInputs {
  #list: Input[] = [];
  #edits: { readonly input: Input; readonly add: boolean }[] = [];
  size = 0;

  /** `input` must not be a member. */
  add(input: Input): void {
    this.#edits.push({ input, add: true });
    this.size++;
  }

  /** `input` must be a member. */
  remove(input: Input): void {
    this.#edits.push({ input, add: false });
    this.size--;
  }

  /** Valid until the next edit. */
  list(): readonly Input[] {
    if (this.#edits.length > editsInPlace) {
      const members = new Set(this.#list);
      for (const { input, add } of this.#edits) add ? members.add(input) : members.delete(input);
      this.#list = [...members].sort((a, b) => (a.key < b.key ? -1 : 1));
    } else {
      for (const { input, add } of this.#edits) this.#list.splice(position(this.#list, input.key), add ? 0 : 1, ...(add ? [input] : []));
    }
    if (this.#edits.length > 0) this.#edits = [];
    return this.#list;
  }
}

function position(list: readonly Input[], key: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] as Input).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

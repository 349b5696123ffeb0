import type { Input } from "./input.js";

/** Above this many pending edits, sorting the whole list costs less than moving its tail for each edit. */
const editsInPlace = 16;

/** A list that is not read is sorted once it has this many more pending edits than members. */
const surplusEdits = 256;

interface Edit {
  readonly input: Input;
  readonly add: boolean;
}

/** Shorter lists are edited immediately: most never have more than one member, and are never read. */
const shortestBatchedList = 8;

const none: Input[] = [];

/**
 * A set of inputs in order of their keys, by UTF-16 code unit. Edits of long lists are applied when the list is next
 * read.
 */
export class OrderedInputs {
  #list: Input[] = none;
  #edits: Edit[] | null = null;
  size = 0;

  /** Returns a set of distinct inputs. */
  static of(inputs: Iterable<Input>): OrderedInputs {
    const set = new OrderedInputs();
    set.#list = [...inputs].sort((a, b) => (a.key < b.key ? -1 : 1));
    set.size = set.#list.length;
    return set;
  }

  /** `input` must not be a member. */
  add(input: Input): void {
    this.size++;
    this.#edit(input, true);
  }

  /** `input` must be a member. */
  remove(input: Input): void {
    this.size--;
    this.#edit(input, false);
  }

  /** Returns the members in order. Valid until the next edit. */
  list(): readonly Input[] {
    const edits = this.#edits;
    if (edits === null) return this.#list;
    this.#edits = null;
    if (edits.length > editsInPlace) {
      const members = new Set(this.#list);
      for (const { input, add } of edits) {
        if (add) members.add(input);
        else members.delete(input);
      }
      this.#list = [...members].sort((a, b) => (a.key < b.key ? -1 : 1));
    } else {
      for (const { input, add } of edits) {
        const at = position(this.#list, input.key);
        if (add) this.#list.splice(at, 0, input);
        else this.#list.splice(at, 1);
      }
    }
    return this.#list;
  }

  #edit(input: Input, add: boolean): void {
    const list = this.#list;
    if (list === none && this.#edits === null) {
      this.#list = [input];
      return;
    }
    if (this.#edits === null && list.length < shortestBatchedList) {
      const at = position(list, input.key);
      this.#list = [...list.slice(0, at), ...(add ? [input] : []), ...list.slice(add ? at : at + 1)];
      return;
    }
    this.#edits ??= [];
    this.#edits.push({ input, add });
    if (this.#edits.length > list.length + surplusEdits) this.list();
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

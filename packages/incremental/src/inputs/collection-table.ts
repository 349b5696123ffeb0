import type { Collection } from "../definitions/input.js";
import type { IndexTable } from "./index-table.js";
import { Input, unset, type Home } from "./input.js";
import { OrderedInputs } from "./ordered-inputs.js";

/** The entries of one collection in one database. A key that is absent has an input only while something depends on it. */
export class CollectionTable implements Home {
  readonly entries = new Map<string, Input>();
  readonly indexes: IndexTable[] = [];
  readonly keys: Input;
  readonly all: Input;
  #ordered: OrderedInputs | undefined;

  constructor(readonly of: Collection<unknown>) {
    this.keys = new Input(this, "keys", "");
    this.all = new Input(this, "all", "");
  }

  entry(key: string): Input {
    let input = this.entries.get(key);
    if (input === undefined) {
      this.entries.set(key, (input = new Input(this, "item", key)));
      input.value = undefined;
    }
    return input;
  }

  /** The entries that are present, in order of keys. */
  ordered(): readonly Input[] {
    if (this.#ordered === undefined) {
      this.#ordered = new OrderedInputs();
      for (const input of this.entries.values()) if (input.present) this.#ordered.add(input);
    }
    return this.#ordered.list();
  }

  /** Puts or deletes the value. Returns every input of the table that changed by it. */
  write(input: Input, present: boolean, value: unknown, revision: number, changed: Set<Input>): void {
    if (input.present !== present) {
      if (present) this.#ordered?.add(input);
      else this.#ordered?.remove(input);
      changed.add(change(this.keys, revision));
    }
    change(input, revision);
    input.present = present;
    input.value = value;
    changed.add(input).add(change(this.all, revision));
    if (!present && input.dependents === null) this.entries.delete(input.key);
  }

  refresh(input: Input): unknown {
    const ordered = this.ordered();
    return (input.value =
      input.kind === "keys" ? ordered.map((entry) => entry.key) : ordered.map((entry) => entry.value));
  }

  /** Forgets who depends on the entries. */
  detach(): void {
    this.keys.dependents = this.all.dependents = null;
    for (const [key, input] of this.entries) {
      input.dependents = null;
      if (!input.present) this.entries.delete(key);
    }
  }

  unused(input: Input): void {
    if (input.kind === "item" && !input.present && this.entries.get(input.key) === input)
      this.entries.delete(input.key);
  }
}

/** Marks an input as changed at a revision, its value to be made again. */
export function change(input: Input, revision: number): Input {
  input.value = unset;
  input.changedAt = revision;
  return input;
}

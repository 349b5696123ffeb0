import type { Collection } from "../definitions/context.js";
import type { IndexTable } from "./index-table.js";
import { Input, type InputTable } from "./input.js";
import { OrderedInputs } from "./ordered-inputs.js";

/** The entries of one collection in one database. An absent key has an input only while something depends on it. */
export class CollectionTable implements InputTable {
  readonly entries = new Map<string, Input>();
  readonly indexes: IndexTable[] = [];
  readonly keys: Input;
  readonly all: Input;
  #ordered: OrderedInputs | undefined;

  constructor(readonly of: Collection<unknown>) {
    this.keys = new Input(this, "keys", "");
    this.all = new Input(this, "all", "");
  }

  /** Returns the input of a key, adding it if there is none. */
  entry(key: string): Input {
    let input = this.entries.get(key);
    if (input === undefined) {
      this.entries.set(key, (input = new Input(this, "item", key)));
      input.value = undefined;
    }
    return input;
  }

  /** Returns the present entries in order of keys. */
  ordered(): readonly Input[] {
    if (this.#ordered === undefined) {
      this.#ordered = new OrderedInputs();
      for (const input of this.entries.values()) if (input.present) this.#ordered.add(input);
    }
    return this.#ordered.list();
  }

  /** Sets or deletes a value, and adds every input of the table that changes to `changed`. */
  write(input: Input, present: boolean, value: unknown, revision: number, changed: Set<Input>): void {
    if (input.present !== present) {
      if (present) this.#ordered?.add(input);
      else this.#ordered?.remove(input);
      changed.add(this.keys.change(revision));
    }
    input.change(revision);
    input.present = present;
    input.value = value;
    changed.add(input).add(this.all.change(revision));
    if (!present && input.dependents === null) this.entries.delete(input.key);
  }

  refresh(input: Input): unknown {
    const ordered = this.ordered();
    return (input.value =
      input.kind === "keys" ? ordered.map((entry) => entry.key) : ordered.map((entry) => entry.value));
  }

  /** Drops all dependents. */
  detach(): void {
    this.keys.dependents = this.all.dependents = null;
    for (const [key, input] of this.entries) {
      input.dependents = null;
      if (!input.present) this.entries.delete(key);
    }
  }

  dropUnused(input: Input): void {
    if (input.kind === "item" && !input.present && this.entries.get(input.key) === input)
      this.entries.delete(input.key);
  }
}

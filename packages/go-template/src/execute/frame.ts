import type { Definition } from "../parse/parser.js";
import type { Operand } from "../values/operand.js";

/** One call of a template: its definition and its variables. */
export class Frame {
  readonly #names = ["$"];
  readonly #values: Operand[];

  constructor(
    readonly definition: Definition,
    dot: Operand,
    /** Number of templates that called each other. */
    readonly depth: number,
  ) {
    this.#values = [dot];
  }

  /** Returns the number of variables. */
  mark(): number {
    return this.#names.length;
  }

  /** Removes the variables declared since `mark`. */
  pop(mark: number): void {
    this.#names.length = this.#values.length = mark;
  }

  declare(name: string, value: Operand): void {
    this.#names.push(name);
    this.#values.push(value);
  }

  /** Assigns to the last declared variable of a name. */
  assign(name: string, value: Operand): void {
    this.#values[this.#indexOf(name)] = value;
  }

  /** Sets the variable that was declared last, or the one before it. */
  setFromTop(distance: 1 | 2, value: Operand): void {
    this.#values[this.#values.length - distance] = value;
  }

  get(name: string): Operand {
    return this.#values[this.#indexOf(name)];
  }

  #indexOf(name: string): number {
    const index = this.#names.lastIndexOf(name);
    if (index < 0) throw new Error(`undefined variable: ${name}`);
    return index;
  }
}

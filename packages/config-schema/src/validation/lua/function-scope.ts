import type { Lexer } from "./tokens.js";

/** Limits of LuaJIT. */
const maxLocals = 200;
const maxUpvalues = 60;
const maxRegisters = 250;

interface Local {
  readonly name: string;
  readonly scope: FunctionScope;
  /** Place of its declaration in the order of the function's declarations, blocks and jumps. */
  readonly place: number;
}

interface Goto {
  readonly label: string;
  readonly line: number;
  readonly place: number;
}

interface Block {
  /** Number of the function's local variables at its start. */
  readonly start: number;
  readonly place: number;
  /** True if it is a loop, or is in one of the same function. */
  readonly isInLoop: boolean;
  readonly labels: Set<string>;
}

/**
 * The variables, blocks and jumps of one function while it is read. The time is linear in the length of the script,
 * whatever the depth of functions and blocks is.
 */
export class FunctionScope {
  hasVarargs = false;
  readonly #locals: Local[] = [];
  /** The local variables of this function and of those around it, by name, the innermost last. */
  readonly #visible: Map<string, Local[]>;
  readonly #upvalues = new Set<Local>();
  readonly #blocks: Block[] = [];
  /** Jumps whose label has not been found yet, in their order, by label. */
  readonly #pending = new Map<string, Goto[]>();
  #places = 0;
  /** Registers that hold values of expressions, at least. */
  #registers = 0;

  constructor(
    readonly outer: FunctionScope | undefined,
    readonly lexer: Lexer,
  ) {
    this.#visible = outer === undefined ? new Map<string, Local[]>() : outer.#visible;
    this.enter(false);
  }

  /** Begins a block. */
  enter(isLoop: boolean): void {
    const isInLoop = isLoop || this.#blocks.at(-1)?.isInLoop === true;
    this.#blocks.push({ start: this.#locals.length, place: this.#places++, isInLoop, labels: new Set() });
  }

  /** Ends the last block. Jumps without their label may find it in the block around it. */
  leave(): void {
    const block = this.#blocks.pop();
    if (block === undefined) return;
    for (const { name } of this.#locals.splice(block.start)) this.#visible.get(name)?.pop();
    for (const label of block.labels) this.#takeJumps(block, label);
    if (this.#blocks.length > 0 || this.#pending.size === 0) return;
    const jumps = [...this.#pending.values()].flatMap(([jump]) => jump ?? []);
    const first = jumps.reduce((one, other) => (other.place < one.place ? other : one));
    this.lexer.fail(`undefined label '${first.label}' of the goto in line ${first.line}`);
  }

  /** Fails if local variables that are not declared yet would be too many. */
  reserve(pending: number): void {
    if (this.#locals.length + pending > maxLocals)
      this.lexer.fail(`more than ${maxLocals} local variables in one function`);
  }

  declare(names: readonly string[]): void {
    this.reserve(names.length);
    for (const name of names) {
      const local: Local = { name, scope: this, place: this.#places++ };
      this.#locals.push(local);
      const others = this.#visible.get(name);
      if (others === undefined) this.#visible.set(name, [local]);
      else others.push(local);
    }
  }

  /** Reads a value, which has a register, while others are kept in registers. */
  withRegisters(count: number, read: () => void): void {
    this.#registers += count;
    if (this.#locals.length + this.#registers + 1 >= maxRegisters)
      this.lexer.fail("function or expression needs too many registers");
    read();
    this.#registers -= count;
  }

  /** Looks up a variable, which becomes an upvalue of each function between its own and this one. */
  refer(name: string): void {
    const local = this.#visible.get(name)?.at(-1);
    if (local !== undefined) this.#capture(local);
  }

  #capture(local: Local): void {
    // The functions around one that has the upvalue have it, too.
    if (local.scope === this || this.#upvalues.has(local)) return;
    if (this.outer !== undefined) this.outer.#capture(local);
    this.#upvalues.add(local);
    if (this.#upvalues.size > maxUpvalues) this.lexer.fail(`more than ${maxUpvalues} upvalues in one function`);
  }

  break(): void {
    if (this.#blocks.at(-1)?.isInLoop !== true) this.lexer.fail("break outside a loop");
  }

  goto(label: string): void {
    if (this.#blocks.at(-1)?.labels.has(label) === true) return;
    const jump: Goto = { label, line: this.lexer.line, place: this.#places++ };
    const others = this.#pending.get(label);
    if (others === undefined) this.#pending.set(label, [jump]);
    else others.push(jump);
  }

  declareLabel(label: string): void {
    const labels = this.#blocks.at(-1)?.labels;
    if (labels?.has(label)) this.lexer.fail(`duplicate label '${label}'`);
    labels?.add(label);
  }

  /**
   * Ends the jumps of the block to a label that has been declared.
   *
   * @param isTrailing whether nothing follows in the block, so that its local variables are out of scope
   */
  resolveLabel(label: string, isTrailing: boolean): void {
    const block = this.#blocks.at(-1);
    if (block === undefined) return;
    const first = this.#takeJumps(block, label);
    const locals = isTrailing ? block.start : this.#locals.length;
    const last = this.#locals[locals - 1];
    if (first === undefined || last === undefined || last.place < first.place) return;
    const skipped = this.#locals.find(({ place }) => place > first.place);
    this.lexer.fail(`goto ${label} jumps into the scope of local '${skipped?.name ?? ""}'`);
  }

  /** Removes the pending jumps to a label in a block and its inner blocks. Returns the first of them. */
  #takeJumps(block: Block, label: string): Goto | undefined {
    const jumps = this.#pending.get(label);
    if (jumps === undefined) return undefined;
    let first: Goto | undefined;
    for (let last = jumps.at(-1); last !== undefined && last.place > block.place; last = jumps.at(-1)) {
      first = last;
      jumps.pop();
    }
    if (jumps.length === 0) this.#pending.delete(label);
    return first;
  }
}

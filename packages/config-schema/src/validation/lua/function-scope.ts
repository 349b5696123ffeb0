import type { Lexer } from "./tokens.js";

/** Limits of LuaJIT. */
const maxLocals = 200;
const maxUpvalues = 60;
const maxRegisters = 250;

interface Local {
  readonly name: string;
}

interface Goto {
  readonly label: string;
  readonly line: number;
  /** Number of the function's local variables at the statement, or at the start of the inner block that it is in. */
  locals: number;
}

interface Block {
  /** Number of the function's local variables at its start. */
  readonly start: number;
  readonly isLoop: boolean;
  readonly labels: Set<string>;
  /** Jumps whose label has not been found yet. */
  readonly pending: Goto[];
}

/** The variables, blocks and jumps of one function while it is read. */
export class FunctionScope {
  hasVarargs = false;
  readonly #locals: Local[] = [];
  readonly #upvalues = new Set<Local>();
  readonly #blocks: Block[] = [];
  /** Registers that hold values of expressions, at least. */
  #registers = 0;

  constructor(
    readonly outer: FunctionScope | undefined,
    readonly lexer: Lexer,
  ) {
    this.enter(false);
  }

  /** Begins a block. */
  enter(isLoop: boolean): void {
    this.#blocks.push({ start: this.#locals.length, isLoop, labels: new Set(), pending: [] });
  }

  /** Ends the last block. Jumps without their label may find it in the block around it. */
  leave(): void {
    const block = this.#blocks.pop();
    if (block === undefined) return;
    this.#locals.length = block.start;
    const around = this.#blocks.at(-1);
    for (const jump of block.pending) {
      if (block.labels.has(jump.label)) continue;
      if (around === undefined)
        return this.lexer.fail(`undefined label '${jump.label}' of the goto in line ${jump.line}`);
      jump.locals = block.start;
      around.pending.push(jump);
    }
  }

  /** Fails if local variables that are not declared yet would be too many. */
  reserve(pending: number): void {
    if (this.#locals.length + pending > maxLocals)
      this.lexer.fail(`more than ${maxLocals} local variables in one function`);
  }

  declare(names: readonly string[]): void {
    this.reserve(names.length);
    for (const name of names) this.#locals.push({ name });
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
    this.#find(name);
  }

  #find(name: string): Local | undefined {
    const local = this.#locals.findLast((one) => one.name === name);
    if (local !== undefined) return local;
    const captured = this.outer === undefined ? undefined : this.outer.#find(name);
    if (captured === undefined) return undefined;
    this.#upvalues.add(captured);
    if (this.#upvalues.size > maxUpvalues) this.lexer.fail(`more than ${maxUpvalues} upvalues in one function`);
    return captured;
  }

  break(): void {
    if (!this.#blocks.some(({ isLoop }) => isLoop)) this.lexer.fail("break outside a loop");
  }

  goto(label: string): void {
    const block = this.#blocks.at(-1);
    if (block?.labels.has(label)) return;
    block?.pending.push({ label, line: this.lexer.line, locals: this.#locals.length });
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
    const locals = isTrailing ? block.start : this.#locals.length;
    const jumps = block.pending.filter((one) => one.label === label);
    const jump = jumps.find((one) => one.locals < locals);
    if (jump !== undefined)
      this.lexer.fail(`goto ${label} jumps into the scope of local '${this.#locals[jump.locals]?.name ?? ""}'`);
    for (const one of jumps) block.pending.splice(block.pending.indexOf(one), 1);
  }
}

import { FunctionScope } from "./function-scope.js";
import { Lexer } from "./tokens.js";

/** Maximum nesting of blocks and expressions in LuaJIT. */
const maxLevel = 200;

/** Precedence of operators on their left and right side. */
const operators: Readonly<Record<string, readonly [left: number, right: number]>> = {
  "+": [6, 6],
  "-": [6, 6],
  "*": [7, 7],
  "/": [7, 7],
  "%": [7, 7],
  "^": [10, 9],
  "..": [5, 4],
  ...Object.fromEntries(["==", "~=", "<", "<=", ">", ">="].map((operator) => [operator, [3, 3]])),
  and: [2, 2],
  or: [1, 1],
};
const unaryPrecedence = 8;

const endsOfBlocks: ReadonlySet<string> = new Set(["else", "elseif", "end", "until"]);

/** The kinds of expressions that a statement distinguishes. */
type Form = "variable" | "call" | "value";

/** Reads a whole script. @throws SyntaxFault if LuaJIT does not compile it */
export function parse(script: string): void {
  new Parser(new Lexer(script)).script();
}

/**
 * Recursive descent over the grammar of Lua 5.1 with LuaJIT's additions, as Envoy builds it, with
 * `LUAJIT_ENABLE_LUA52COMPAT`: goto, labels, empty statements, break anywhere in a block, further literals.
 */
class Parser {
  readonly #lexer: Lexer;
  #scope: FunctionScope;
  #level = 0;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
    this.#scope = new FunctionScope(undefined, lexer);
    this.#scope.hasVarargs = true;
  }

  script(): void {
    this.#lexer.advance();
    this.#statements();
    if (this.#lexer.token.kind !== "end") this.#lexer.fail("unexpected symbol");
    this.#scope.leave();
  }

  #nested(read: () => void): void {
    if (++this.#level >= maxLevel) this.#lexer.fail(`more than ${maxLevel} levels of nesting`);
    read();
    this.#level--;
  }

  #is(text: string): boolean {
    const { token } = this.#lexer;
    return token.text === text && (token.kind === "symbol" || token.kind === "keyword");
  }

  #accept(text: string): boolean {
    const found = this.#is(text);
    if (found) this.#lexer.advance();
    return found;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) this.#lexer.fail(`'${text}' expected`);
  }

  #name(): string {
    const { kind, text } = this.#lexer.token;
    if (kind !== "name") this.#lexer.fail("name expected");
    this.#lexer.advance();
    return text;
  }

  #atEndOfBlock(): boolean {
    const { kind, text } = this.#lexer.token;
    return kind === "end" || (kind === "keyword" && endsOfBlocks.has(text));
  }

  #block(isLoop = false): void {
    this.#scope.enter(isLoop);
    this.#statements();
    this.#scope.leave();
  }

  #statements(): void {
    this.#nested(() => {
      for (let isLast = false; !isLast && !this.#atEndOfBlock(); this.#accept(";")) isLast = this.#statement();
    });
  }

  /** Reads a statement. Returns whether it must be the last of its block. */
  #statement(): boolean {
    const { kind, text } = this.#lexer.token;
    const read = kind === "keyword" || kind === "symbol" ? this.#statementsByWord[text] : undefined;
    if (read !== undefined) {
      this.#lexer.advance();
      read();
    } else this.#assignmentOrCall();
    return kind === "keyword" && text === "return";
  }

  readonly #statementsByWord: Readonly<Record<string, () => void>> = {
    if: () => this.#if(),
    while: () => {
      this.#expression();
      this.#expect("do");
      this.#block(true);
      this.#expect("end");
    },
    do: () => {
      this.#block();
      this.#expect("end");
    },
    for: () => this.#for(),
    repeat: () => this.#repeat(),
    function: () => this.#function(),
    local: () => this.#local(),
    return: () => {
      if (!this.#atEndOfBlock() && !this.#is(";")) this.#expressions();
    },
    break: () => this.#scope.break(),
    goto: () => this.#scope.goto(this.#name()),
    "::": () => this.#label(),
    ";": () => undefined,
  };

  #if(): void {
    do {
      this.#expression();
      this.#expect("then");
      this.#block();
    } while (this.#accept("elseif"));
    if (this.#accept("else")) this.#block();
    this.#expect("end");
  }

  #repeat(): void {
    this.#scope.enter(true);
    this.#scope.enter(false);
    this.#statements();
    this.#expect("until");
    this.#expression();
    this.#scope.leave();
    this.#scope.leave();
  }

  #for(): void {
    const first = this.#name();
    this.#scope.enter(true);
    const names = [first];
    if (this.#accept("=")) {
      this.#expression();
      this.#expect(",");
      this.#expression();
      if (this.#accept(",")) this.#expression();
    } else {
      while (this.#accept(",")) names.push(this.#name());
      this.#expect("in");
      this.#expressions();
    }
    // The loop has three variables of its own.
    this.#scope.declare(["", "", ""]);
    this.#expect("do");
    this.#scope.enter(false);
    this.#scope.declare(names);
    this.#block();
    this.#scope.leave();
    this.#scope.leave();
    this.#expect("end");
  }

  #local(): void {
    if (this.#accept("function")) {
      this.#scope.declare([this.#name()]);
      return this.#body([]);
    }
    const names: string[] = [];
    do {
      this.#scope.reserve(names.length + 1);
      names.push(this.#name());
    } while (this.#accept(","));
    if (this.#accept("=")) this.#expressions();
    this.#scope.declare(names);
  }

  #function(): void {
    this.#scope.refer(this.#name());
    while (this.#accept(".")) this.#name();
    const isMethod = this.#accept(":");
    if (isMethod) this.#name();
    this.#body(isMethod ? ["self"] : []);
  }

  #label(): void {
    const label = this.#name();
    this.#expect("::");
    this.#scope.declareLabel(label);
    while (this.#is("::") || this.#is(";"))
      if (!this.#accept(";")) {
        this.#lexer.advance();
        this.#nested(() => this.#label());
      }
    this.#scope.resolveLabel(label, this.#atEndOfBlock() && !this.#is("until"));
  }

  /** Reads the parameters and statements of a function. */
  #body(parameters: string[]): void {
    const outer = this.#scope;
    this.#scope = new FunctionScope(outer, this.#lexer);
    this.#expect("(");
    if (!this.#is(")"))
      do {
        if (this.#accept("...")) {
          this.#scope.hasVarargs = true;
          break;
        }
        parameters.push(this.#name());
      } while (this.#accept(","));
    this.#scope.declare(parameters);
    this.#expect(")");
    this.#statements();
    this.#expect("end");
    this.#scope.leave();
    this.#scope = outer;
  }

  #assignmentOrCall(): void {
    let form = this.#suffixed();
    if (form === "call") return;
    for (let targets = 1; ; targets++) {
      if (form !== "variable") this.#lexer.fail("unexpected symbol");
      if (!this.#accept(",")) break;
      form = this.#suffixed();
      if (this.#level + targets >= maxLevel) this.#lexer.fail(`more than ${maxLevel} variable names`);
    }
    this.#expect("=");
    this.#expressions();
  }

  /** Reads a list, each value of which has a register. */
  #expressions(): void {
    let count = 0;
    do {
      this.#scope.withRegisters(count++, () => this.#expression());
    } while (this.#accept(","));
  }

  #expression(limit = 0): void {
    this.#nested(() => {
      if (this.#accept("not") || this.#accept("-") || this.#accept("#")) this.#expression(unaryPrecedence);
      else this.#operand();
      for (;;) {
        const { kind, text } = this.#lexer.token;
        const precedence = kind === "symbol" || kind === "keyword" ? operators[text] : undefined;
        if (precedence === undefined || precedence[0] <= limit) return;
        this.#lexer.advance();
        this.#expression(precedence[1]);
      }
    });
  }

  #operand(): void {
    const { kind } = this.#lexer.token;
    if (kind === "number" || kind === "string") this.#lexer.advance();
    else if (this.#accept("nil") || this.#accept("true") || this.#accept("false")) return;
    else if (this.#is("...")) {
      if (!this.#scope.hasVarargs) this.#lexer.fail("cannot use '...' outside a vararg function");
      this.#lexer.advance();
    } else if (this.#is("{")) this.#table();
    else if (this.#accept("function")) this.#body([]);
    else this.#suffixed();
  }

  /** Reads a name or an expression in brackets, with its fields, indices and calls. */
  #suffixed(): Form {
    let form: Form = "variable";
    if (this.#accept("(")) {
      this.#expression();
      this.#expect(")");
      form = "value";
    } else if (this.#lexer.token.kind === "name") this.#scope.refer(this.#name());
    else this.#lexer.fail("unexpected symbol");
    for (;;) {
      if (this.#accept(".")) {
        this.#name();
        form = "variable";
      } else if (this.#is("[")) {
        this.#index();
        form = "variable";
      } else if (this.#accept(":")) {
        this.#name();
        this.#arguments(3);
        form = "call";
      } else if (this.#is("(") || this.#is("{") || this.#lexer.token.kind === "string") {
        this.#arguments(2);
        form = "call";
      } else return form;
    }
  }

  #index(): void {
    this.#expect("[");
    this.#expression();
    this.#expect("]");
  }

  /** @param registers number of those of the function, of a link to its caller, and of its object */
  #arguments(registers: number): void {
    if (this.#lexer.token.kind === "string") return this.#lexer.advance();
    if (this.#is("{")) return this.#table();
    if (!this.#is("(")) this.#lexer.fail("function arguments expected");
    this.#lexer.advance();
    if (!this.#is(")")) this.#scope.withRegisters(registers, () => this.#expressions());
    this.#expect(")");
  }

  #table(): void {
    this.#expect("{");
    while (!this.#is("}")) {
      if (this.#is("[")) {
        this.#index();
        this.#expect("=");
      } else if (
        this.#lexer.token.kind === "name" &&
        this.#lexer.peek().kind === "symbol" &&
        this.#lexer.peek().text === "="
      ) {
        this.#name();
        this.#expect("=");
      }
      this.#expression();
      if (!this.#accept(",") && !this.#accept(";")) break;
    }
    this.#expect("}");
  }
}

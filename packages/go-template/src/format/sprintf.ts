import { checkLength } from "../budget.js";
import { integerOf, typeOf } from "../values/type-of.js";
import type { Value } from "../values/values.js";
import { defaultText, valueText } from "./value-text.js";

const flags = "#0+- ";
const maxNumber = 1_000_000;

/** Go's `fmt.Sprintf`, with its notes about wrong verbs and arguments, such as `%!d(string=hi)`. */
export function sprintf(format: string, args: readonly Value[]): string {
  return new Formatter(format, args).run();
}

/** Go's `fmt.Sprint`: a space between two arguments of which none is a string. */
export function sprint(args: readonly Value[]): string {
  let text = "";
  for (const [i, arg] of args.entries()) {
    if (i > 0 && typeof arg !== "string" && typeof args[i - 1] !== "string") text += " ";
    text += defaultText(arg);
    checkLength(text.length);
  }
  return text;
}

/** Go's `fmt.Sprintln`. */
export const sprintln = (args: readonly Value[]): string => `${args.map(defaultText).join(" ")}\n`;

class Formatter {
  readonly #format: string;
  readonly #args: readonly Value[];
  #position = 0;
  #argument = 0;
  #isReordered = false;
  #isIndexValid = true;
  #isAfterIndex = false;
  #output = "";

  constructor(format: string, args: readonly Value[]) {
    this.#format = format;
    this.#args = args;
  }

  run(): string {
    while (this.#position < this.#format.length) {
      const percent = this.#format.indexOf("%", this.#position);
      const end = percent < 0 ? this.#format.length : percent;
      this.#output += this.#format.slice(this.#position, end);
      this.#position = end + 1;
      if (percent >= 0) this.#directive();
      checkLength(this.#output.length);
    }
    if (!this.#isReordered && this.#argument < this.#args.length) this.#output += this.#extra();
    return this.#output;
  }

  #extra(): string {
    const extra = this.#args
      .slice(this.#argument)
      .map((arg) => (arg === null ? "<nil>" : `${typeOf(arg).name}=${defaultText(arg)}`));
    return `%!(EXTRA ${extra.join(", ")})`;
  }

  #directive(): void {
    this.#isIndexValid = true;
    this.#isAfterIndex = false;
    const present = new Set<string>();
    for (; this.#here() !== "" && flags.includes(this.#here()); this.#position++) present.add(this.#here());
    this.#index();
    let width = this.#width();
    if (width !== undefined && width < 0) {
      width = -width;
      present.add("-").delete("0");
    }
    const precision = this.#precision();
    if (!this.#isAfterIndex) this.#index();
    const code = this.#format.codePointAt(this.#position);
    if (code === undefined) {
      this.#output += "%!(NOVERB)";
      return;
    }
    const verb = String.fromCodePoint(code);
    this.#position += verb.length;
    this.#output += this.#verb(verb, present, width, precision);
  }

  #verb(verb: string, present: ReadonlySet<string>, width: number | undefined, precision: number | undefined): string {
    if (verb === "%") return "%";
    if (!this.#isIndexValid) return `%!${verb}(BADINDEX)`;
    const argument = this.#args[this.#argument];
    if (argument === undefined) return `%!${verb}(MISSING)`;
    this.#argument++;
    const isValue = verb === "v" || verb === "w";
    return valueText(argument, {
      verb,
      minus: present.has("-"),
      plus: present.has("+") && !isValue,
      sharp: present.has("#") && !isValue,
      space: present.has(" "),
      zero: present.has("0"),
      width,
      precision,
      plusV: present.has("+") && isValue,
      sharpV: present.has("#") && isValue,
    });
  }

  #width(): number | undefined {
    if (this.#here() !== "*") {
      const width = this.#number();
      if (this.#isAfterIndex && width !== undefined) this.#isIndexValid = false;
      return width;
    }
    this.#position++;
    const width = this.#integerArgument();
    if (width === undefined) this.#output += "%!(BADWIDTH)";
    this.#isAfterIndex = false;
    return width;
  }

  #precision(): number | undefined {
    if (this.#here() !== "." || this.#position + 1 >= this.#format.length) return undefined;
    this.#position++;
    if (this.#isAfterIndex) this.#isIndexValid = false;
    this.#index();
    if (this.#here() !== "*") return this.#number() ?? 0;
    this.#position++;
    const precision = this.#integerArgument();
    this.#isAfterIndex = false;
    if (precision !== undefined && precision >= 0) return precision;
    this.#output += "%!(BADPREC)";
    return undefined;
  }

  /** Reads an index such as `[2]`. */
  #index(): void {
    this.#isAfterIndex = false;
    if (this.#here() !== "[") return;
    this.#isReordered = true;
    const end = this.#format.indexOf("]", this.#position);
    const digits = end < 0 ? "" : this.#format.slice(this.#position + 1, end);
    const index = /^[0-9]+$/.test(digits) ? Number(digits) - 1 : -1;
    this.#position = end < 0 ? this.#position + 1 : end + 1;
    if (index >= 0 && index < this.#args.length && index < maxNumber) {
      this.#argument = index;
      this.#isAfterIndex = true;
    } else {
      this.#isIndexValid = false;
      this.#isAfterIndex = end >= 0 && /^[0-9]+$/.test(digits);
    }
  }

  #integerArgument(): number | undefined {
    const argument = this.#args[this.#argument];
    if (argument === undefined) return undefined;
    this.#argument++;
    const value = integerOf(argument);
    return value === undefined || value > maxNumber || value < -maxNumber ? undefined : Number(value);
  }

  #number(): number | undefined {
    let digits = "";
    for (; /^[0-9]$/.test(this.#here()); this.#position++) digits += this.#here();
    if (digits === "") return undefined;
    const number = Number(digits);
    return number > maxNumber ? undefined : number;
  }

  #here(): string {
    return this.#format.charAt(this.#position);
  }
}

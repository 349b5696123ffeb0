import { checkLength } from "../budget.js";

/** Flags, width and precision of a verb in a format. */
export interface Directive {
  readonly verb: string;
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  /** `%+v`: names of fields. */
  readonly plusV: boolean;
  /** `%#v`: Go's syntax. */
  readonly sharpV: boolean;
}

/** The directive of a verb without flags. */
export const plainDirective = (verb: string): Directive => ({
  verb,
  minus: false,
  plus: false,
  sharp: false,
  space: false,
  zero: false,
  width: undefined,
  precision: undefined,
  plusV: false,
  sharpV: false,
});

/** Pads a text to the width, which counts characters. */
export function pad(text: string, { width, minus, zero }: Directive): string {
  if (width === undefined) return text;
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  checkLength(missing);
  if (minus) return text + " ".repeat(missing);
  return (zero ? "0" : " ").repeat(missing) + text;
}

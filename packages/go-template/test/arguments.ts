import fc from "fast-check";
import { keys, words } from "./arbitrary-data.js";

/** Returns a string literal. */
export const quoted = (text: string): string => JSON.stringify(text);
/** String literals. */
export const stringLiteral = fc.oneof(
  fc.constantFrom(...words, ...keys).map(quoted),
  fc.constantFrom("`raw`", '"\\t\\x41\\u00e9"', '"\\101"'),
);
/** Number literals, of which some are not valid. */
export const numberLiteral = fc.constantFrom(
  "0",
  "1",
  "2",
  "-1",
  "3",
  "10",
  "1.5",
  "1e3",
  "0x10",
  "0b101",
  "0o17",
  "017",
  "1_0",
  "'\\n'",
  "+5",
  "1.0",
  "0x1p4",
  "100000000000000000000",
  "089",
  ".5",
  "1e400",
  "-0",
  "0x_1",
);
/** Formats of `printf`. */
export const formats = fc
  .constantFrom(
    "%v",
    "%s",
    "%d",
    "%q",
    "%x",
    "%5d|",
    "%-5s|",
    "%05d",
    "%+v",
    "%#v",
    "%T",
    "%t",
    "%.2f",
    "%e",
    "%g",
    "%c",
    "%U",
    "%%",
    "%z",
    "%v %v",
    "%[2]v %[1]v",
    "%*d",
    "%s%s",
    "%6.3v|",
    "% x",
    "%#x",
    "%+d",
    "%!",
    "%",
    "%.3s",
    "%08.3f",
    "%+q",
    "%#q",
    "%X",
    "%o",
    "%b",
    "%#U",
    "%-08d|",
    "%[5]d",
    "%[x]d",
    "%.0f",
    "%6.2f%%",
    "%w",
    "%.*f",
    "%G",
    "%#o",
  )
  .map(quoted);

const integerLiteral = fc.constantFrom(
  "0",
  "1",
  "2",
  "3",
  "5",
  "8",
  "-1",
  "-2",
  "(int .n)",
  ".n",
  "(len .list)",
  "(int64 4)",
);
const numberOperand = fc.oneof(
  integerLiteral,
  fc.constantFrom("1.5", "0.1", "-2.5", '"3.7"', '"010"', '"0x1f"', '"8.00"', "true", "1e21", ".a", ".b"),
);
const pattern = fc
  .constantFrom(
    "a",
    "[a-z]+",
    "(a)(b)?",
    "^",
    "$",
    "x*",
    "\\b",
    "(?i)FOO",
    "(?P<n>o+)",
    "(",
    "a**",
    "[",
    ".",
    "é|日",
    "",
  )
  .map((text) => `"${text}"`);
const version = fc
  .constantFrom(
    "1.2.3",
    "v1.2",
    "1",
    "1.2.3-beta.1",
    "1.2.3-alpha",
    "2.0.0+meta",
    "0.1.2",
    "01.2.3",
    "x",
    "",
    "1.2.3.4",
    "1.2.3-01",
  )
  .map(quoted);
const constraint = fc
  .constantFrom(
    "1.2.3",
    "^1.2",
    "~1.2.3",
    ">=1.2",
    ">1.2.3-0",
    "<2",
    "!=1.2",
    "1.x",
    "*",
    "^0.1",
    "1 - 2",
    ">=1, <2",
    "~1 || ^2",
    "=1.2.3",
    "<=1",
    ">1",
    "^0",
    "x y",
    "",
    "!=1.2.3",
    "=>1.2.3-alpha",
    "~0",
    "^*",
  )
  .map(quoted);
const layout = fc
  .constantFrom(
    "2006-01-02",
    "2006-01-02T15:04:05Z07:00",
    "Mon Jan _2 15:04:05 2006",
    "3:04PM",
    "02/Jan/06",
    "January 2, 2006",
    "15:04:05.000",
    "002 06",
    "-07:00",
    "Monday",
  )
  .map(quoted);
const dateText = fc
  .constantFrom(
    "2024-02-29",
    "2023-02-29",
    "2024-05-06T07:08:09Z",
    "2024-05-06T07:08:09.5+02:00",
    "x",
    "3:04PM",
    "06/May/24",
    "15:04:05.123",
    "2024-01-02 ",
  )
  .map(quoted);

/** Returns arguments of a kind, and sometimes of any. */
export function argument(kind: string, operand: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const scalarOperand = fc.oneof(
    stringLiteral,
    integerLiteral,
    fc.constantFrom("true", "nil", '(list 1 "a")', "(list)"),
  );
  const freshMap = fc.oneof(
    fc.tuple(stringLiteral, scalarOperand).map(([key, item]) => `(dict ${key} ${item})`),
    fc
      .tuple(scalarOperand, scalarOperand, scalarOperand)
      .map(([a, b, c]) => `(dict "a" ${a} "b" (dict "x" ${b} "y" ${c}))`),
    fc.constantFrom(
      "(dict)",
      '(dict "a" (dict "x" 1) "b" 2)',
      '(dict "a" (list) "b" (list 1))',
      '(dict "scheme" "http" "host" "h:1" "path" "a b" "query" "q=1" "userinfo" "u:p")',
    ),
  );
  const kinds: Readonly<Record<string, fc.Arbitrary<string>>> = {
    s: fc.oneof(stringLiteral, stringLiteral, fc.constantFrom("(print .n)", "(print .a)")),
    i: integerLiteral,
    n: numberOperand,
    b: fc.constantFrom("true", "false", "(eq .n 1)"),
    l: fc.oneof(
      fc.constantFrom(
        ".list",
        "(list)",
        '(list 1 "a" nil 1.5 "a")',
        '(splitList "," "b,a,b")',
        "(until 5)",
        "(list 0 false (list))",
      ),
      fc.tuple(operand, operand).map(([a, b]) => `(list ${a} ${b})`),
    ),
    m: fc.oneof(freshMap, fc.constantFrom("$", ".", ".c", ".Labels", '(strdict "a" "1")')),
    f: freshMap,
    c: scalarOperand,
    j: fc.constantFrom("0", "-2", "1700000000", "(int64 4)", "(int32 7)"),
    r: pattern,
    v: version,
    w: constraint,
    t: layout,
    d: dateText,
    z: fc.constantFrom('"UTC"', '"Local"', '""', '"No/Where"', '"America/New_York"'),
  };
  const expected = kinds[kind];
  if (expected === undefined) return operand;
  // Maps that are changed must stay free of cycles, and dates of other types are the current time.
  return "fcj".includes(kind)
    ? expected
    : fc.oneof({ weight: 12, arbitrary: expected }, { weight: 1, arbitrary: operand });
}

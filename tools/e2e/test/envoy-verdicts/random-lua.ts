import fc from "fast-check";

const name = fc.constantFrom("a", "b", "goto", "self", "é1", "_", "handle", "nil", "end");
const literal = fc.constantFrom(
  ..."1 0x1F 1e3 .5 1LL 2i 'a' [[b]] nil true false ... {} 0x 1..2".split(" "),
  '"\\x41"',
  "'\\q'",
  "[=[\n]]]=]",
);
const operator = fc.constantFrom(..."+ - * / % ^ .. == ~= < <= > >= and or = & ! //".split(" "));
const unary = fc.constantFrom("-", "not ", "#", "~");

const { block, expression } = fc.letrec<{
  block: string;
  statement: string;
  expression: string;
  list: string;
  prefix: string;
}>((tie) => ({
  list: fc.array(tie("expression"), { minLength: 1, maxLength: 3 }).map((all) => all.join(", ")),
  prefix: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: name },
    { weight: 1, arbitrary: tie("expression").map((inner) => `(${inner})`) },
    { weight: 2, arbitrary: fc.tuple(tie("prefix"), name).map(([target, field]) => `${target}.${field}`) },
    { weight: 1, arbitrary: fc.tuple(tie("prefix"), tie("expression")).map(([target, key]) => `${target}[${key}]`) },
    { weight: 2, arbitrary: fc.tuple(tie("prefix"), tie("list")).map(([target, list]) => `${target}(${list})`) },
    { weight: 1, arbitrary: fc.tuple(tie("prefix"), name).map(([target, field]) => `${target}:${field}()`) },
    { weight: 1, arbitrary: tie("prefix").map((target) => `${target}'x'`) },
    { weight: 1, arbitrary: tie("prefix").map((target) => `${target}{}`) },
  ),
  expression: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: literal },
    { weight: 3, arbitrary: tie("prefix") },
    { weight: 2, arbitrary: fc.tuple(tie("expression"), operator, tie("expression")).map((parts) => parts.join(" ")) },
    { weight: 1, arbitrary: fc.tuple(unary, tie("expression")).map(([sign, inner]) => sign + inner) },
    { weight: 1, arbitrary: tie("block").map((body) => `function(a, ...) ${body} end`) },
    { weight: 1, arbitrary: tie("block").map((body) => `function(b) ${body} end`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(name, tie("expression"), tie("expression"))
        .map(([key, value, item]) => `{${key} = ${value}, ${item}; [${item}] = ${value},}`),
    },
  ),
  statement: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: fc.tuple(tie("prefix"), tie("list")).map(([target, list]) => `${target} = ${list}`) },
    { weight: 2, arbitrary: fc.tuple(tie("prefix"), tie("list")).map(([target, list]) => `${target}(${list})`) },
    { weight: 2, arbitrary: fc.tuple(name, tie("list")).map(([variable, list]) => `local ${variable} = ${list}`) },
    { weight: 1, arbitrary: fc.tuple(name, name).map(([one, other]) => `local ${one}, ${other}`) },
    { weight: 1, arbitrary: tie("block").map((body) => `do ${body} end`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("expression"), tie("block"))
        .map(([condition, body]) => `while ${condition} do ${body} end`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("expression"), tie("block"))
        .map(([condition, body]) => `repeat ${body} until ${condition}`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("expression"), tie("block"), tie("block"))
        .map(([condition, yes, no]) => `if ${condition} then ${yes} else ${no} end`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(name, tie("list"), tie("block"))
        .map(([variable, list, body]) => `for ${variable} in ${list} do ${body} end`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(name, tie("block")).map(([variable, body]) => `for ${variable} = 1, 2 do ${body} end`),
    },
    { weight: 1, arbitrary: fc.tuple(name, tie("block")).map(([own, body]) => `function ${own}.a:b(c) ${body} end`) },
    {
      weight: 1,
      arbitrary: fc.tuple(name, tie("block")).map(([own, body]) => `local function ${own}(...) ${body} end`),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        "goto l",
        "goto m",
        "::l::",
        "::m::",
        "::l::",
        "break",
        "break;",
        "return",
        "return 1;",
        ";",
        "-- x\n",
        "--[[ y ]]",
      ),
    },
  ),
  block: fc
    .array(fc.tuple(tie("statement"), fc.constantFrom(" ", "\n", "; ", ";\n")), { maxLength: 4 })
    .map((all) => all.map((parts) => parts.join("")).join("")),
}));

/** Random scripts of the grammar, some with a character removed, doubled or replaced. */
export const scripts: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: block },
  { weight: 2, arbitrary: expression.map((value) => `local x = ${value}`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        block,
        fc.nat(),
        fc.constantFrom(
          "",
          "(",
          ")",
          "'",
          '"',
          ".",
          ",",
          "\\",
          " ",
          "{",
          "é",
          "--",
          "[[",
          "]]",
          "\n",
          " end ",
          " do ",
          "::",
          "=",
          "0x",
          ";",
        ),
      )
      .map(
        ([text, at, inserted]) =>
          text.slice(0, at % (text.length + 1)) + inserted + text.slice((at % (text.length + 1)) + 1),
      ),
  },
);

/** Returns a script of which nothing runs when it is loaded, so that Envoy's verdict is on its text alone. */
export function withoutEffect(script: string): string {
  return `do return end ${script}`;
}

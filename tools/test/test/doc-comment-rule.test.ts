import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint, Linter } from "eslint";
import { expect, test } from "vitest";
import docComment from "../doc-comment-rule.mjs";
import protoParser from "../proto-parser.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const config: Linter.Config[] = [
  {
    files: ["**/*.ts", "**/*.proto"],
    plugins: { local: { rules: { "doc-comment": docComment } } },
    rules: { "local/doc-comment": "error" },
  },
  {
    files: ["**/*.proto"],
    languageOptions: { parser: protoParser },
    rules: { "local/doc-comment": ["error", "all"] },
  },
];

/** Returns the position and the first word of each comment that the rule reports. */
function reported(code: string, filename: string): string[] {
  return new Linter()
    .verify(code, config, filename)
    .map(({ line, column, message }) => `${line}:${column} ${/"(\w[\w ]*)"\.$/.exec(message)?.[1] ?? message}`);
}

const openers = ["What", "Who", "Whoever", "How", "Where", "Whether", "Which", "Why", "That which"];

test.each(openers)("a comment of a .proto file must not begin with %s", (opener) => {
  expect(reported(`message A {\n  // ${opener} of the proxies is it for.\n  string a = 1;\n}\n`, "a.proto")).toEqual([
    `2:3 ${opener}`,
  ]);
});

test("all forms of comments in a .proto file are checked", () => {
  const code = [
    "// Which file this is.",
    'syntax = "proto3"; // What follows is a syntax.',
    "//Who writes without a space.",
    "/* How it is done. */",
    "/**",
    " * Where it is.",
    " */",
    "//   Whether it is indented.",
  ].join("\r\n");
  expect(reported(code, "a.proto").map((each) => each.replace(/:\d+/, ""))).toEqual([
    "1 Which",
    "2 What",
    "3 Who",
    "4 How",
    "5 Where",
    "8 Whether",
  ]);
});

test("later lines of a comment, strings and longer words of a .proto file are not reported", () => {
  const code = [
    "// Protocol of the port, from its name or",
    "// Whether another comment begins here is not a question:",
    "//",
    "// Which paragraph this is, neither.",
    'option (a) = { rule: "// What a \\" string // How" };',
    "option (b) = '/* Who */ // Where';",
    "// Whichever wins. Whatever it is, the same.",
    "// Selects what follows.",
    "string url = 1; // Default: `file:///Which`",
    "// Howitzers are nouns.",
  ].join("\n");
  expect(reported(code, "a.proto")).toEqual([]);
});

test("only doc comments of a .ts file are checked", () => {
  const code = ["/** Which it is. */", "// Which it is.", "/* Which it is. */", "/** Returns which it is. */", ""];
  expect(reported(code.join("\n"), "a.ts")).toEqual(["1:1 Which"]);
});

test("lint checks every .proto file of the repository, and reports none", { timeout: 60_000 }, async () => {
  const eslint = new ESLint({ cwd: root });
  const results = await eslint.lintFiles(["proto"]);
  expect(results.length).toBeGreaterThan(25);
  expect(results.filter(({ messages }) => messages.length > 0)).toEqual([]);

  const path = join(root, "proto/networking/v1alpha3/virtual_service.proto");
  const code = readFileSync(path, "utf8").replace("// Cross-origin (CORS) policy.", "// Which origins may read.");
  const [changed] = await eslint.lintText(code, { filePath: path });
  expect(changed?.messages.map(({ ruleId }) => ruleId)).toEqual(["local/doc-comment"]);
});

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Template, TemplateError } from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";
import { compileGoProgram, GoProgram, type GoRequest } from "./go-program.js";
import { requests } from "./grammar.js";
import { languageFunctions, type Signatures, sprigSignatures } from "./signatures.js";
import { testFunctions } from "./test-functions.js";
import { decodeTyped } from "./typed-data.js";

/** Other cases: `GO_TEMPLATE_CASES=20000 GO_TEMPLATE_SEED=2 npx vitest run test/go-equality.test.ts`. */
const cases = Number(process.env["GO_TEMPLATE_CASES"] ?? 2000) / 2;
const seed = Number(process.env["GO_TEMPLATE_SEED"] ?? 1);
const functions = { ...sprigFunctions(), ...testFunctions };

let go: GoProgram | undefined;
let reason = "";
beforeAll(async () => {
  const program = await compileGoProgram();
  if ("path" in program) go = new GoProgram(program.path);
  else reason = program.reason;
}, 600_000);
afterAll(() => go?.close());

function answer({ template, data = null, missingKey, plain, delimiters: [left, right] = ["", ""] }: GoRequest): string {
  try {
    const options = {
      functions: plain === true ? {} : functions,
      missingKey: missingKey ?? "default",
      delimiters: { left, right },
    };
    return new Template("t", options).parse(template).execute(decodeTyped(data));
  } catch (cause) {
    if (!(cause instanceof TemplateError)) throw cause;
    return `error: ${cause.message}`;
  }
}

async function differences(all: readonly GoRequest[]): Promise<readonly unknown[]> {
  const answers = (await go?.run(all)) ?? [];
  return all.flatMap((request, i) => {
    const { output = "", error = "" } = answers[i] ?? {};
    const expected = error === "" ? output : `error: ${error}`;
    const actual = answer(request);
    return actual === expected || isDeviation(expected, actual) ? [] : [{ ...request, expected, actual }];
  });
}

/** Reports a documented difference: limits, bytes that are not UTF-8, and the private parts of times and versions. */
const isDeviation = (expected: string, actual: string): boolean =>
  /maximum template depth|\ufffd|\*time\.Location|&\{[^}]*%!/.test(expected) ||
  actual.includes("maximum number of steps");

describe("equality with Go", () => {
  it.for<[string, Signatures]>([
    ["the language", languageFunctions],
    ["sprig", sprigSignatures],
  ])("of %s, for templates and data that are generated", { timeout: 300_000 }, async ([, signatures], context) => {
    context.skip(go === undefined, reason);
    const all = fc.sample(requests(signatures), { numRuns: cases, seed });
    expect((await differences(all)).slice(0, 5)).toEqual([]);
  });

  it("of structs, pointers and methods", async (context) => {
    context.skip(go === undefined, reason);
    const pod = { name: "web", labels: { app: "a" }, port: 80, extra: null };
    const all = structTemplates.flatMap((template) => [
      { template, data: { pod } },
      { template, data: { "pod pointer": pod } },
    ]);
    expect(await differences(all)).toEqual([]);
    const nilPointer = ["{{ .Name }}", "{{ . }}", "{{ if . }}yes{{ end }}", "{{ len . }}", "{{ print . }}"];
    expect(await differences(nilPointer.map((template) => ({ template, data: { "nil pod": null } })))).toEqual([]);
  });

  it("of delimiters", async (context) => {
    context.skip(go === undefined, reason);
    const templates = ["a <<- 1 ->> b", "{{ << `x` >>", "<</* c */>>", "<< 1 ] >>", "<<", "<< (1 >>"];
    const requested = templates.map((template) => ({ template, delimiters: ["<<", ">>"] as const }));
    expect(await differences(requested)).toEqual([]);
  });
});

const structTemplates = [
  "{{ . }}",
  "{{ .Name }} {{ .Labels.app }} {{ .Labels.none }} {{ .Port }} {{ .Extra }}",
  "{{ .Nope }}",
  "{{ .Extra.x }}",
  '{{ .Name "x" }}',
  '{{ printf "%v %+v %T %d" . . . .Port }}',
  '{{ printf "%d %s %q" . . . }}',
  "{{ range . }}{{ end }}",
  "{{ len . }}",
  "{{ if . }}yes{{ end }}",
  "{{ html . }}",
  "{{ index . 0 }}",
  '{{ .Join "," "a" "b" }}',
  '{{ "x" | .Join "," }}',
  "{{ .Join }}",
  "{{ .Join 1 }}",
  "{{ .Fail }}",
  "{{ podName . }}",
  '{{ typeOf . }} {{ kindOf . }} {{ typeIsLike "main.Pod" . }}',
];

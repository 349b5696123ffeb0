import fc from "fast-check";
import type { MissingKey } from "@istiod/go-template";
import { data, fields } from "./arbitrary-data.js";
import { argument, formats, numberLiteral, stringLiteral } from "./arguments.js";
import type { GoRequest } from "./go-program.js";
import { languageFunctions, type Signatures } from "./signatures.js";

/** Returns templates that use functions. Their errors are about as frequent as their results. */
export function templates(functions: Signatures): fc.Arbitrary<string> {
  const call = (operand: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.constantFrom(...Object.entries(functions)).chain(([name, forms]) =>
      fc
        .constantFrom(...forms)
        .chain((form) => fc.tuple(...Array.from(form, (kind) => argument(kind, operand))))
        .map((args) => {
          const text = [name, ...args].join(" ");
          // Go returns keys and values in random order.
          return name === "keys" || name === "values" ? `sortAlpha (${text})` : text;
        }),
    );
  return fc
    .letrec<Record<"operand" | "command" | "pipeline" | "statement" | "body", string>>((tie) => ({
      operand: fc.oneof(
        { depthSize: "small" },
        {
          weight: 4,
          arbitrary: fc
            .array(fc.constantFrom(...fields), { minLength: 1, maxLength: 2 })
            .map((names) => `.${names.join(".")}`),
        },
        { weight: 1, arbitrary: fc.constant(".") },
        { weight: 1, arbitrary: fc.constant("$") },
        { weight: 1, arbitrary: fc.constantFrom(...fields).map((name) => `$.${name}`) },
        { weight: 3, arbitrary: stringLiteral },
        { weight: 3, arbitrary: numberLiteral },
        { weight: 1, arbitrary: fc.constantFrom("true", "false", "nil") },
        { weight: 2, arbitrary: fc.constantFrom("$", "$.b", "$.list") },
        { weight: 3, arbitrary: tie("pipeline").map((inner) => `(${inner})`) },
        {
          weight: 1,
          arbitrary: fc.tuple(tie("pipeline"), fc.constantFrom(...fields)).map(([inner, name]) => `(${inner}).${name}`),
        },
      ),
      command: fc.oneof(
        { depthSize: "small" },
        { weight: 2, arbitrary: tie("operand") },
        { weight: 5, arbitrary: call(tie("operand")) },
        {
          weight: 1,
          arbitrary: fc
            .tuple(formats, fc.array(tie("operand"), { maxLength: 3 }))
            .map(([format, args]) => ["printf", format, ...args].join(" ")),
        },
        { weight: 1, arbitrary: fc.tuple(tie("operand"), tie("operand")).map((parts) => parts.join(" ")) },
      ),
      pipeline: fc.oneof(
        { weight: 5, arbitrary: tie("command") },
        { weight: 2, arbitrary: fc.tuple(tie("command"), tie("command")).map((parts) => parts.join(" | ")) },
      ),
      statement: fc.oneof(
        { depthSize: "small" },
        { weight: 14, arbitrary: tie("pipeline").map((pipe) => `{{ ${pipe} }}`) },
        { weight: 2, arbitrary: fc.constantFrom(" ", "\n", "text", " - ", "{{/* c */}}", "{{- /* c */ -}}") },
        { weight: 3, arbitrary: tie("pipeline").map((pipe) => `{{- ${pipe} -}}`) },
        {
          weight: 2,
          arbitrary: fc
            .tuple(tie("pipeline"), fc.constantFrom("$v", "$v.a", "print $v", "len $v", '$v | printf "%v"'))
            .map(([pipe, use]) => `{{ $v := ${pipe} }}{{ ${use} }}`),
        },
        { weight: 1, arbitrary: tie("pipeline").map((pipe) => `{{ $v = ${pipe} }}`) },
        {
          weight: 2,
          arbitrary: fc
            .tuple(tie("pipeline"), tie("body"), tie("body"))
            .map(([p, a, b]) => `{{ if ${p} }}${a}{{ else }}${b}{{ end }}`),
        },
        {
          weight: 1,
          arbitrary: fc
            .tuple(tie("pipeline"), tie("body"), tie("pipeline"), tie("body"))
            .map(([p, a, q, b]) => `{{ if ${p} }}${a}{{ else if ${q} }}${b}{{ end }}`),
        },
        {
          weight: 2,
          arbitrary: fc
            .tuple(tie("pipeline"), tie("body"), tie("body"))
            .map(([p, a, b]) => `{{ with ${p} }}${a}{{ else }}${b}{{ end }}`),
        },
        {
          weight: 2,
          arbitrary: fc.tuple(tie("pipeline"), tie("body")).map(([p, a]) => `{{ range ${p} }}${a}{{ end }}`),
        },
        {
          weight: 2,
          arbitrary: fc
            .tuple(tie("pipeline"), tie("body"), tie("body"), fc.constantFrom("", "{{ break }}", "{{ continue }}"))
            .map(([p, a, b, jump]) => `{{ range $k, $v := ${p} }}{{ $k }}${a}${jump}${a}{{ else }}${b}{{ end }}`),
        },
        {
          weight: 1,
          arbitrary: fc
            .tuple(tie("pipeline"), tie("body"))
            .map(([p, a]) => `{{ define "d" }}${a}{{ end }}{{ template "d" ${p} }}`),
        },
        {
          weight: 1,
          arbitrary: fc.tuple(tie("pipeline"), tie("body")).map(([p, a]) => `{{ block "k" ${p} }}${a}{{ end }}`),
        },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            "{{ end }}",
            "{{ else }}",
            "{{ .x",
            '{{ template "none" }}',
            "{{ undefinedfn }}",
            "{{ $undeclared }}",
            "{{ . := 1 }}",
            "{{ break }}",
            "}}",
            '{{ "x }}',
            "{{ 1 | 2 }}",
            "{{ .a.b.c }}",
            "{{}}",
            "{{ ( }}",
            "{{ .x | }}",
            "{{ @ }}",
            "{{ x y }}",
            "{{ if }}{{ end }}",
            "{{/* open",
            "{{ $a, $b := 1 }}",
            "{{ range $x = .list }}{{ end }}",
            "{{ 'ab' }}",
            "{{ .a }}{{\n.b\n",
          ),
        },
      ),
      body: fc.array(tie("statement"), { maxLength: 2 }).map((parts) => parts.join("")),
    }))
    .body.chain((first) =>
      fc
        .constantFrom("", ...Array.from({ length: 9 }, () => "{{ $k := 1 }}{{ $v := .a }}"))
        .map((declared) => declared + first),
    );
}

/** Returns requests of templates that use functions. */
export const requests = (functions: Signatures): fc.Arbitrary<GoRequest> =>
  fc.record({
    template: templates(functions),
    data,
    missingKey: fc.constantFrom<MissingKey>("default", "zero", "error"),
    plain: fc.constant(functions === languageFunctions),
  });

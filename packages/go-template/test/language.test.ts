import { describe, expect, it } from "vitest";
import { GoInteger, goMap, goValue, parseTemplate, stringType, Template } from "@istiod/go-template";

const render = (text: string, data: unknown = null): string => parseTemplate("t", text).execute(data);

describe("text and actions", () => {
  it.each([
    ["a {{- 1 -}} b", "a1b"],
    ["a {{ 1 }} b", "a 1 b"],
    ["a\n\t{{- /* comment */ -}}\n b", "ab"],
    ["{{/* comment */}}x", "x"],
    ["{{ `raw \\n` }}", "raw \\n"],
    ['{{ "\\t\\x41\\u00e9\\101" }}', "\tAéA"],
    ["{{ 'a' }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }}", "97 31 3 15 15 1000"],
    ["{{ 1.5 }} {{ 1e3 }} {{ 0x1p4 }} {{ .5 }} {{ 1.0 }}", "1.5 1000 16 0.5 1"],
    ["{{ true }}{{ false }}", "truefalse"],
  ])("%s", (text, expected) => {
    expect(render(text)).toBe(expected);
  });

  it("has other delimiters", () => {
    const template = parseTemplate("t", "{{ <% .a -%> ]] x", { delimiters: { left: "<%", right: "%>" } });
    expect(template.execute({ a: 1 })).toBe("{{ 1]] x");
  });
});

describe("control", () => {
  const data = { list: ["a", "b", "c"], map: { z: 1, a: 2, __proto__: 3 }, empty: [], n: 3n };

  it.each([
    ["{{ if .empty }}1{{ else if .n }}2{{ else }}3{{ end }}", "2"],
    ["{{ with .missing }}1{{ else with .n }}{{ . }}{{ else }}3{{ end }}", "3"],
    ["{{ range .list }}{{ . }};{{ end }}", "a;b;c;"],
    ["{{ range $i, $e := .list }}{{ $i }}={{ $e }};{{ end }}", "0=a;1=b;2=c;"],
    ["{{ range $k, $v := .map }}{{ $k }}={{ $v }};{{ end }}", "a=2;z=1;"],
    ["{{ range .n }}{{ . }}{{ end }}", "012"],
    ["{{ range .empty }}1{{ else }}none{{ end }}", "none"],
    ['{{ range .list }}{{ if eq . "b" }}{{ continue }}{{ end }}{{ . }}{{ end }}', "ac"],
    ['{{ range .list }}{{ if eq . "b" }}{{ break }}{{ end }}{{ . }}{{ end }}', "a"],
    ["{{ $x := 1 }}{{ range .list }}{{ $x = . }}{{ end }}{{ $x }}", "c"],
    ["{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"],
    ['{{ define "d" }}<{{ . }}>{{ end }}{{ template "d" .n }}{{ template "d" }}', "<3><<no value>>"],
    ['{{ block "b" .n }}[{{ . }}]{{ end }}', "[3]"],
    ["{{ (index .list 1) }}{{ (len .list) }}", "b3"],
    ['{{ .list | len | printf "%d%s" 1 | print }}', "1%!s(int=3)"],
    ["{{ or 0 .missing .n }} {{ and 1 .n }} {{ not .n }}", "3 3 false"],
  ])("%s", (text, expected) => {
    expect(render(text, data)).toBe(expected);
  });

  it("executes templates of other sources, and keeps one that an empty source would replace", () => {
    const template = new Template("a").parse('{{ template "b" . }}').parse("b={{ . }}", "b").parse(" ", "b");
    expect(template.execute(1n)).toBe("b=1");
    expect(template.execute(2n, "b")).toBe("b=2");
  });
});

describe("values", () => {
  it.each([
    [1_000_000, "1e+06"],
    [100_000, "100000"],
    [1e-7, "1e-07"],
    [1n, "1"],
    [new GoInteger("uint8", 300n), "44"],
    [[1, "a", null, [true]], "[1 a <nil> [true]]"],
    [{ b: 1, a: { c: null } }, "map[a:map[c:<nil>] b:1]"],
    [null, "<no value>"],
    ["<b>", "<b>"],
  ])("prints %s", (value, expected) => {
    expect(render("{{ . }}", value)).toBe(expected);
  });

  it("separates operands that are not strings", () => {
    expect(render('{{ print 1 2 "a" "b" 3 4 }}|{{ println 1 "a" }}')).toBe("1 2ab3 4|1 a\n");
  });

  it("tells missing keys of untyped and of typed maps apart", () => {
    const data = { any: {}, labels: goMap(stringType, {}) };
    expect(render('{{ index .any "k" }}|{{ index .labels "k" }}|{{ .labels.k }}', data)).toBe("<no value>||<no value>");
    const zero = new Template("t", { missingKey: "zero" }).parse("{{ .any.k }}|{{ .labels.k }}");
    expect(zero.execute(data)).toBe("<no value>|");
  });

  it("counts strings in bytes", () => {
    expect(render('{{ len "日本" }} {{ slice "héllo" 0 3 }} {{ index "é" 0 }}')).toBe("6 hé 195");
  });

  it("keeps the keys of objects apart from their prototypes", () => {
    const data: unknown = JSON.parse('{"__proto__": {"x": 1}, "a": {}}');
    expect(render("{{ .a.constructor }} {{ .a.x }} {{ .__proto__.x }} {{ .toString }}", data)).toBe(
      "<no value> <no value> 1 <no value>",
    );
    expect(() => goValue(new Date())).toThrow("got an object of class Date");
  });
});

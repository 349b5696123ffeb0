import { describe, expect, it } from "vitest";
import { parseTemplate, TemplateError } from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";

const functions = sprigFunctions();
const run = (text: string, data: unknown = null): unknown => {
  try {
    return parseTemplate("t", text, { functions }).execute(data);
  } catch (cause) {
    if (!(cause instanceof TemplateError)) throw cause;
    return cause.code === "limit" ? "limit" : cause.message;
  }
};
const doubled = (next: string, times: number): string => `{{ $x := . }}${`{{ $x = ${next} }}`.repeat(times)}`;

describe("limits", () => {
  it.each([
    ["output", '{{ range until 100000 }}{{ repeat 1000 "x" }}{{ end }}'],
    ["repetitions", '{{ repeat 9000000000 "x" }}'],
    ["a string that doubles", `${doubled("print $x $x", 40)}`],
    ["the result of a function", doubled("cat $x $x", 40)],
    ["padding", '{{ printf "%999999d%999999d%999999d%999999d%999999d" 1 2 3 4 5 }}'],
    ["sequences", "{{ len (until 9000000000) }}"],
    ["loops", "{{ range 9000000000 }}{{ end }}"],
    ["nested loops", "{{ range 1000 }}{{ range 1000 }}{{ range 1000 }}{{ end }}{{ end }}{{ end }}"],
    ["a list that holds itself twice, often", `${doubled("list $x $x", 60)}{{ $x }}`],
    ["its JSON", `${doubled("list $x $x", 60)}{{ toJson $x }}`],
    ["its equality", `${doubled("list $x $x", 60)}{{ deepEqual $x (deepCopy $x) }}`],
    ["a map in itself", '{{ $m := dict }}{{ $_ := set $m "m" $m }}{{ $m }}'],
    ["JSON of a map in itself", '{{ $m := dict }}{{ $_ := set $m "m" $m }}{{ toJson $m }}'],
    ["parentheses", `{{ ${"(".repeat(100_000)}1${")".repeat(100_000)} }}`],
    ["actions", `${"{{ if 1 }}".repeat(100_000)}${"{{ end }}".repeat(100_000)}`],
    ["joined strings", '{{ $l := until 100000 }}{{ join (repeat 100000 "x") $l }}'],
    ["a regular expression", '{{ regexReplaceAll "" (repeat 1000000 "x") (repeat 1000 "y") }}'],
  ])("of %s", (_name, text) => {
    expect(run(text, "x")).toMatch(/^limit$|max .*depth exceeded/);
  });

  it("of templates that call themselves, with Go's message", () => {
    expect(run('{{ define "d" }}{{ template "d" }}{{ end }}{{ template "d" }}')).toContain(
      "exceeded maximum template depth (500)",
    );
  });

  it("are set by the embedder", () => {
    const template = parseTemplate("t", "{{ range 10 }}x{{ end }}", { limits: { steps: 20 } });
    expect(() => template.execute(null)).toThrow("template: exceeded the maximum number of steps (20)");
    expect(() => parseTemplate("t", "xxxxx", { limits: { length: 4 } }).execute(null)).toThrow("(4)");
  });

  it("do not change the data of the embedder", () => {
    const data = { m: { a: 1 } };
    expect(run('{{ $_ := set .m "a" 2 }}{{ .m.a }}', data)).toBe("2");
    expect(data).toEqual({ m: { a: 1 } });
  });

  it("cannot reach prototypes", () => {
    run(
      '{{ $_ := set (dict) "__proto__" (dict "polluted" 1) }}{{ $_ := merge (dict) (fromJson .) }}',
      '{"__proto__":{"polluted":1}}',
    );
    expect({}).not.toHaveProperty("polluted");
    expect(run('{{ $d := dict "__proto__" 1 }}{{ $d.__proto__ }} {{ hasKey $d "constructor" }}')).toBe("1 false");
    expect(run("{{ constructor }}")).toContain('function "constructor" not defined');
  });
});

import { describe, expect, it } from "vitest";
import {
  goFunction,
  GoPointer,
  GoStruct,
  parseTemplate,
  stringType,
  type TemplateError,
  Template,
} from "@istiod/go-template";

const fault = (run: () => unknown): TemplateError => {
  try {
    run();
  } catch (cause) {
    return cause as TemplateError;
  }
  throw new Error("expected an error");
};

describe("errors of parsing", () => {
  it.each([
    ["{{ if }}{{ end }}", "template: t:1: missing value for if"],
    ["\n{{ .x", "template: t:2: unclosed action"],
    ["{{ nosuch }}", 'template: t:1: function "nosuch" not defined'],
    ["{{ $x }}", 'template: t:1: undefined variable "$x"'],
    ["{{ range .x }}", "template: t:1: unexpected EOF"],
    ["{{ end }}", "template: t:1: unexpected {{end}}"],
    ["{{ break }}", "template: t:1: {{break}} outside {{range}}"],
    ["{{ 1 | 2 }}", "template: t:1: non executable command in pipeline stage 2"],
    ["{{ .x }}\n{{\n.y", "template: t:3: unclosed action started at t:2"],
    ["{{ 1i }}", 'template: t:1: complex numbers are not supported: "1i"'],
    ['{{ "\\q" }}', "template: t:1: invalid syntax"],
    ["{{ @ }}", 'template: t:1: unexpected "@" in command'],
    ["{{/* x", "template: t:1: unclosed comment"],
  ])("%j", (text, message) => {
    expect(fault(() => parseTemplate("t", text))).toMatchObject({ code: "parse", message });
  });
});

describe("errors of executing", () => {
  const functions = {
    fails: goFunction([stringType], stringType, (text) => {
      throw new Error(`no ${text}`);
    }),
  };
  const pod = new GoStruct("v1.Pod", { Name: "web", Spec: null });

  it.each([
    ["{{ .pod.Nam }}", 'template: t:1:7: executing "t" at <.pod.Nam>: can\'t evaluate field Nam in type interface {}'],
    ["{{ .pointer.Nam }}", "can't evaluate field Nam in type interface {}"],
    ["{{ $p := .pod }}{{ $p.Nam }}", "can't evaluate field Nam in type v1.Pod"],
    ["{{ .nil.Name }}", "nil pointer evaluating interface {}.Name"],
    ["{{ .pod.Spec.Name }}", "at <.pod.Spec.Name>: nil pointer evaluating interface {}.Name"],
    ['\n  {{ fails "luck" }}', 'template: t:2:5: executing "t" at <fails "luck">: error calling fails: no luck'],
    ["{{ fails 1 }}", 'template: t:1:9: executing "t" at <1>: expected string; found 1'],
    ["{{ fails .n }}", "wrong type for value; expected string; got float64"],
    ["{{ fails }}", "wrong number of args for fails: want 1 got 0"],
    ["{{ index .list 5 }}", "error calling index: index out of range: 5"],
    ["{{ eq 1 1.0 }}", "error calling eq: incompatible types for comparison: int and float64"],
    ["{{ eq .list .list }}", "error calling eq: non-comparable type [%!s(float64=1)]: []interface {}"],
    ["{{ lt true false }}", "error calling lt: invalid type for comparison"],
    ["{{ range .n }}{{ end }}", "range can't iterate over 1"],
    ['{{ template "none" }}', 'template "none" not defined'],
    ["é{{ .n.x }}", "template: t:1:7:"],
    ['{{ define "d" }}{{ .n.x }}{{ end }}{{ template "d" . }}', 'template: t:1:21: executing "d" at <.n.x>'],
  ])("%j", (text, message) => {
    const data = { pod, pointer: new GoPointer(pod), nil: null, n: 1, list: [1] };
    const error = fault(() => parseTemplate("t", text, { functions }).execute(data));
    expect(error).toMatchObject({ code: "execute", message: expect.stringContaining(message) as string });
  });

  it("names the missing key", () => {
    const template = new Template("t", { missingKey: "error" }).parse("{{ .a.b }}");
    expect(fault(() => template.execute({ a: {} })).message).toContain('map has no entry for key "b"');
  });
});

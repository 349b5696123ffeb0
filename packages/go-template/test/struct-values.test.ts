import { goFunction, GoPointer, GoStruct, parseTemplate, sprint, stringType, type Value } from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";
import { describe, expect, it } from "vitest";

const render = (source: string, data: unknown): string =>
  parseTemplate("t", source, { functions: sprigFunctions({ now: () => 0 }) }).execute(data);

describe("structs", () => {
  it("have their own form in JSON", () => {
    const port = new GoStruct(
      "v1.Port",
      { Number: 80n, Name: "b" },
      {
        json: () =>
          new Map<string, Value>([
            ["name", "b"],
            ["number", 80n],
          ]),
      },
    );
    const size = new GoStruct("v1.Size", {}, { json: () => "1Gi" });
    expect(render("{{ toJson . }}", [port, size])).toBe('[{"name":"b","number":80},"1Gi"]');
    expect(render("{{ toPrettyJson . }}", port)).toBe('{\n  "name": "b",\n  "number": 80\n}');
    expect(render("{{ .Number }}", port)).toBe("80");
  });
});

describe("nil pointers", () => {
  const name = goFunction([], stringType, () => "none");
  const nil = new GoPointer("v1.Pod", new Map([["GetName", name]]));

  it("have the methods that they are given", () => {
    expect(render("{{ .pod.GetName }}", { pod: nil })).toBe("none");
    expect(render("{{ if .pod }}set{{ else }}nil{{ end }}", { pod: nil })).toBe("nil");
    expect(() => render("{{ .pod.Name }}", { pod: nil })).toThrow("nil pointer evaluating interface {}.Name");
  });
});

it("sprint prints values as templates do", () => {
  expect([sprint([null]), sprint([1.5]), sprint([1_000_000]), sprint([true])]).toEqual([
    "<nil>",
    "1.5",
    "1e+06",
    "true",
  ]);
});

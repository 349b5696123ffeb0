import { describe, expect, it } from "vitest";
import { mutatePod } from "@istiod/injector";
import fc from "fast-check";
import { injected, injectorOf, names, podOf, refusal } from "./injection-fixtures.js";

/** A template that prints values of the pod without quotes, as custom templates may. */
const careless = `
metadata:
  annotations: {
    quoted: "{{ index .ObjectMeta.Annotations "value" }}",
    plain: {{ index .ObjectMeta.Annotations "value" | default "none" }},
  }
spec:
  containers:
  - name: istio-proxy
    image: {{ index .ObjectMeta.Annotations "value" | default "none" }}
    args:
    - --level={{ index .ObjectMeta.Annotations "value" }}
    - '{{ index .ObjectMeta.Annotations "value" }}'
    env:
    {{- range $key, $value := .ProxyConfig.ProxyMetadata }}
    - name: {{ $key }}
      value: "{{ $value }}"
    {{- end }}
`;
const options = { templates: { sidecar: careless } };

describe("values of a pod in templates", () => {
  it.each(["info", "10.0.0.0/8", "a:b", "http://host/p?q=1#x", "$(POD_NAME)", "50%"])("may be %s", (value) => {
    const pod = injected(podOf({ value }), options);
    expect(pod.spec.containers.at(-1)).toMatchObject({ image: value, args: [`--level=${value}`, value] });
  });

  it.each([
    ["a line break", "info\n  - name: evil\n    image: evil"],
    ["a line break and an argument", "info\n    - --evil"],
    ["a quote", 'info", evil: "yes'],
    ["a single quote", "info'\n    - 'evil"],
    ["a nested mapping", "info\n    command: [evil]"],
    ["a comment", "# nothing"],
    ["an anchor", "&a"],
    ["an alias", "*a"],
    ["a flow mapping", "{evil: true}"],
    ["a flow list", "[evil]"],
    ["a document", "info\n---\nspec: {}"],
  ])("are refused with %s", (_, value) => {
    expect(refusal(podOf({ value }), options)).toMatch(/changes the structure of template sidecar|failed parsing/);
  });

  /** Places where a template prints a value, and values that are valid YAML there and add something. */
  const value = '{{ index .ObjectMeta.Annotations "value" }}';
  it.each([
    ["a bare element", `- name: istio-proxy\n    args:\n    - --level=${value}`, "info\n    - --evil"],
    ["a quoted element", `- name: istio-proxy\n    args:\n    - "${value}"`, 'info"\n    - "--evil'],
    ["a single-quoted element", `- name: istio-proxy\n    args:\n    - '${value}'`, "info'\n    - '--evil"],
    ["a bare field", `- name: istio-proxy\n    image: ${value}`, "img\n    command: [evil]"],
    ["the last field", `- name: istio-proxy\n    image: ${value}`, "img\n  - name: evil\n    image: evil"],
    ["a flow mapping", `- {name: istio-proxy, image: "${value}"}`, 'img", command: ["evil"], workingDir: "'],
    ["a block scalar", `- name: istio-proxy\n    args:\n    - |\n      ${value}`, "info\n    - --evil"],
    ["the end", `- name: istio-proxy\n    image: ${value}`, "img\n  hostPID: true"],
  ])("do not add to the pod from %s", (_, container, attack) => {
    const templates = { sidecar: `spec:\n  containers:\n  ${container}\n` };
    expect(refusal(podOf({ value: "harmless" }), { templates })).toBe("injected");
    expect(refusal(podOf({ value: attack }), { templates })).toContain("changes the structure of template sidecar");
  });

  it("are named if they change the structure", () => {
    const message = refusal(podOf({ value: 'x", evil: "yes', other: "fine" }), options);
    expect(message).toMatch(/annotations|failed parsing/);
    expect(message).not.toContain("other");
  });

  it("are refused in names and values of the proxy's configuration", () => {
    const config = (metadata: object): string =>
      refusal(podOf({ "proxy.istio.io/config": JSON.stringify({ proxyMetadata: metadata }) }), options);
    expect(config({ OK: "fine" })).toBe("injected");
    expect(config({ "A\n      value: x\n    securityContext: {privileged: true}\n    x": "y" })).toMatch(
      /structure|parsing/,
    );
    expect(config({ A: 'x"\n    - name: "B' })).toMatch(/structure|parsing/);
  });

  it("are not executed as templates", () => {
    const pod = injected(podOf({ value: "{{ .Values }}" }), {
      templates: { sidecar: 'metadata: {annotations: {copy: {{ index .ObjectMeta.Annotations "value" | quote }}}}' },
    });
    expect(pod.metadata.annotations).toMatchObject({ copy: "{{ .Values }}" });
  });

  it("may be anything where the template quotes or encodes them", () => {
    const safe = `
metadata:
  annotations:
    a: {{ index .ObjectMeta.Annotations "value" | quote }}
    b: {{ index .ObjectMeta.Annotations "value" | toJson }}
spec:
  containers:
  - name: istio-proxy
    args:
    - |-
      {{ toJSON .ObjectMeta.Annotations }}
    env:
    {{- range $name, $item := fromJSON (index .ObjectMeta.Annotations "json") }}
    - name: {{ $name }}
      {{ toYaml $item | indent 6 }}
    {{- end }}
`;
    const json = '{"ONE": {"value": "a\\n- b: \\"c\\""}, "TWO": {"value": "2"}}';
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab \n\t:#'\"{}[],-?&*!|>%@\\`é") }), (value) => {
        const pod = injected(podOf({ value, json }), { templates: { sidecar: safe } });
        expect(pod.metadata.annotations?.["b"]).toBe(value);
        expect(pod.spec.containers.at(-1)?.env).toEqual([
          { name: "ONE", value: 'a\n- b: "c"' },
          { name: "TWO", value: "2" },
        ]);
      }),
      { numRuns: 60 },
    );
  });

  it("never add containers or fields of a careless template", () => {
    const characters = fc.string({
      unit: fc.constantFrom(..."ab \n:#'\"{}[],-&*!|>\\", "\n  - name: x", "\n    x: y"),
      maxLength: 12,
    });
    fc.assert(
      fc.property(characters, (value) => {
        const pod = podOf({ value });
        const mutation = mutatePod({ object: pod }, injectorOf(options));
        if (mutation.outcome === "failed") return;
        const result = injected(pod, options);
        expect(names(result.spec.containers)).toEqual(["app", "istio-proxy"]);
        const allowed = ["name", "image", "args", "env", "resources"];
        expect(Object.keys(result.spec.containers[1] ?? {}).filter((key) => !allowed.includes(key))).toEqual([]);
        expect(result.spec.containers[1]?.args).toHaveLength(2);
      }),
      { numRuns: 150 },
    );
  });
});

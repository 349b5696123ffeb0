import { analyzeTexts, formatMessages, parseSuppression, selectMessages } from "@istiod/analysis";
import { describe, expect, it } from "vitest";

const service = (name: string, port: string, annotations = ""): string => `
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop${annotations}}
spec:
  ports:
  - {name: ${port}, port: 80}
`;
const shown = (text: string): string[] =>
  analyzeTexts({ files: [{ file: "a.yaml", text }] }).messages.map(
    ({ code, origin, reference }) => `${code} ${origin} ${reference}`,
  );

describe("analyzeTexts", () => {
  it("reports the line of a field in a document and in an item of a List", () => {
    const list = `---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: b, namespace: shop}
  spec:
    ports:
    - {name: web, port: 80}
`;
    expect(shown(service("a", "web") + list)).toEqual([
      "IST0118 Service shop/a a.yaml:7",
      "IST0118 Service shop/b a.yaml:17",
    ]);
  });

  it("reports rejected documents, invalid YAML and unknown kinds", () => {
    const text = `apiVersion: networking.istio.io/v1
kind: VirtualServce
metadata: {name: a}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: b}
spec: {hosts: [b], http: [{route: [{destination: {host: b}, weight: -1}]}]}
---
a: [
`;
    const { messages, unparsed } = analyzeTexts({ files: [{ file: "a.yaml", text }] });
    expect(messages.map(({ code, level, reference }) => `${level} ${code} ${reference}`)).toEqual(
      expect.arrayContaining(["Error MESH0001 a.yaml:2", "Error IST0106 a.yaml:8", "Error IST0106 a.yaml:11"]),
    );
    expect(unparsed).toEqual(["a.yaml"]);
  });

  it("ignores Kubernetes' system namespaces", () => {
    expect(shown(service("a", "web").replace("shop", "kube-system"))).toEqual([]);
  });

  it("suppresses codes listed in the object's annotation", () => {
    const suppressing = (codes: string): string =>
      service("a", "web", `, annotations: {galley.istio.io/analyze-suppress: "${codes}"}`);
    expect(shown(suppressing("IST0102,IST0118"))).toEqual([]);
    expect(shown(suppressing("*"))).toEqual([]);
    expect(shown(suppressing("IST0102"))).toEqual(["IST0118 Service shop/a a.yaml:7"]);
  });
});

describe("selectMessages", () => {
  const { messages } = analyzeTexts({
    files: [{ file: "a.yaml", text: `${service("a", "web")}---${service("b", "web")}` }],
  });
  const origins = (selection: Parameters<typeof selectMessages>[1]): (string | undefined)[] =>
    selectMessages(messages, selection).map(({ origin }) => origin);

  it.each([
    ["IST0118=Service shop/a", ["Service shop/b"]],
    ["IST0118=Service a.shop", ["Service shop/b"]],
    ["IST0118=Service *.shop", []],
    ["IST0118=*/b", ["Service shop/a"]],
    ["IST0118=Service shop", ["Service shop/a", "Service shop/b"]],
    ["IST0119=Service shop/*", ["Service shop/a", "Service shop/b"]],
  ])("--suppress %s leaves %j", (suppression, expected) => {
    expect(origins({ suppressions: [parseSuppression(suppression)] })).toEqual(expected);
  });

  it("rejects a suppression without an object, naming the expected format", () => {
    expect(() => parseSuppression("IST0118")).toThrow("--suppress IST0118: expected CODE=KIND NAMESPACE/NAME");
  });

  it("selects by namespace and by analyzer", () => {
    expect(origins({ namespace: "other" })).toEqual([]);
    expect(origins({ namespace: "shop", analyzers: ["service.PortNameAnalyzer"] })).toHaveLength(2);
    expect(() => origins({ analyzers: ["nobody"] })).toThrow("analyzer nobody does not exist");
  });
});

describe("formatMessages", () => {
  const { messages } = analyzeTexts({ files: [{ file: "a.yaml", text: service("a", "web") }] });

  it("formats log lines like istioctl, with optional color", () => {
    expect(formatMessages(messages, "log")).toMatch(
      /^Info \[IST0118\] \(Service shop\/a a\.yaml:7\) port 80 is named "web"/,
    );
    const [error] = messages.map((message) => ({ ...message, level: "Error" as const }));
    expect(formatMessages(error ? [error] : [], "log", true)).toMatch(/^\u001b\[1;31mError\u001b\[0m \[IST0118\]/);
  });

  it("formats JSON and YAML as one array", () => {
    expect(JSON.parse(formatMessages(messages, "json"))).toEqual(messages);
    expect(formatMessages(messages, "yaml")).toContain("- code: IST0118\n  level: Info\n  origin: Service shop/a\n");
    expect(formatMessages([], "json")).toBe("[]\n");
  });

  it("formats a table", () => {
    const [header, row] = formatMessages(messages, "table").split("\n");
    expect(header?.split(/ {2,}/)).toEqual(["LEVEL", "CODE", "ORIGIN", "REFERENCE", "MESSAGE"]);
    expect(row?.split(/ {2,}/).slice(0, 4)).toEqual(["Info", "IST0118", "Service shop/a", "a.yaml:7"]);
  });
});

import { toJson, type DescMessage } from "@bufbuild/protobuf";
import { DestinationRuleSchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { ServiceEntrySchema } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { PeerAuthenticationSchema } from "@istiod/istio-api/security/v1beta1/peer_authentication";
import { describe, expect, test } from "vitest";
import { decode, parseYaml } from "../src/index.js";

/** A field of an object, and what it reads from the values that Go's `jsonpb` accepts. Other values are refused. */
interface Field {
  readonly title: string;
  readonly kind: string;
  readonly schema: DescMessage;
  readonly specOf: (value: unknown) => object;
  readonly path: string;
  readonly accepted: readonly (readonly [value: unknown, read: unknown])[];
  readonly refused: readonly unknown[];
}

const wrong = [
  "0x10",
  "0b1",
  "+3",
  "03",
  "",
  "3x",
  "1_000",
  ".5",
  "5.",
  "Inf",
  "nan",
  "+Inf",
  "3,0",
  "３",
  true,
  [3],
  {},
];
const notWhole = [...wrong, "1e2", "1E2", "3.0", "NaN", "Infinity", 1.5, Number.POSITIVE_INFINITY];

const fields: readonly Field[] = [
  {
    title: "durations",
    kind: "VirtualService",
    schema: VirtualServiceSchema,
    specOf: (timeout) => ({ http: [{ timeout }] }),
    path: "http.0.timeout",
    accepted: [
      ["1.5s", "1.500s"],
      ["+1s", "1s"],
      ["1h2m", "3720s"],
      ["0", "0s"],
      [".5s", "0.500s"],
      ["1.s", "1s"],
      ["1ms1s", "1.001s"],
      ["1.1234567891s", "1.123456789s"],
      ["9223372036s", "9223372036s"],
    ],
    refused: [
      ...[
        "1.5sx",
        "1s ",
        " 1s",
        "1s\n",
        "1",
        "",
        "1S",
        "1.5.5s",
        "1d",
        "0x1s",
        "1e1s",
        "1_0s",
        "null",
        "∞",
        "s",
        "1s s",
      ],
      ...["315576000000s", "9223372037s", 1, true],
    ],
  },
  {
    title: "whole numbers with a sign",
    kind: "VirtualService",
    schema: VirtualServiceSchema,
    specOf: (attempts) => ({ http: [{ retries: { attempts } }] }),
    path: "http.0.retries.attempts",
    accepted: [
      ["3", 3],
      [" 3 ", 3],
      ["-1", -1],
      [-1, -1],
      [3, 3],
    ],
    refused: [...notWhole, "\t3", "2147483648", 2147483648],
  },
  {
    title: "whole numbers without a sign",
    kind: "ServiceEntry",
    schema: ServiceEntrySchema,
    specOf: (number) => ({ ports: [{ number }] }),
    path: "ports.0.number",
    accepted: [
      ["80", 80],
      [80, 80],
      [" 80", 80],
    ],
    refused: [...notWhole, "-1", "-0", "4294967296", -1],
  },
  {
    title: "long whole numbers",
    kind: "DestinationRule",
    schema: DestinationRuleSchema,
    specOf: (minimumRingSize) => ({ trafficPolicy: { loadBalancer: { consistentHash: { minimumRingSize } } } }),
    path: "trafficPolicy.loadBalancer.consistentHash.minimumRingSize",
    accepted: [
      ["1024", "1024"],
      [1024, "1024"],
    ],
    refused: [...notWhole, "-1"],
  },
  {
    title: "whole numbers that may be absent",
    kind: "DestinationRule",
    schema: DestinationRuleSchema,
    specOf: (consecutive5xxErrors) => ({ trafficPolicy: { outlierDetection: { consecutive5xxErrors } } }),
    path: "trafficPolicy.outlierDetection.consecutive5xxErrors",
    accepted: [
      ["7", 7],
      ["null", 0],
      [7, 7],
    ],
    refused: notWhole,
  },
  {
    title: "fractions",
    kind: "VirtualService",
    schema: VirtualServiceSchema,
    specOf: (value) => ({ http: [{ mirrorPercentage: { value } }] }),
    path: "http.0.mirrorPercentage.value",
    accepted: [
      ["1e2", 100],
      ["3.0", 3],
      [" 3", 3],
      [1.5, 1.5],
      ["NaN", "NaN"],
      ["-Infinity", "-Infinity"],
    ],
    refused: [...wrong, "1e400", Number.NaN],
  },
  {
    title: "bytes",
    kind: "VirtualService",
    schema: VirtualServiceSchema,
    specOf: (bytes) => ({ http: [{ directResponse: { body: { bytes } } }] }),
    path: "http.0.directResponse.body.bytes",
    accepted: [
      ["AA==", "AA=="],
      ["AA==\n", "AA=="],
      ["+/8=", "+/8="],
    ],
    refused: ["AA", "_-8=", "A A=", "A", 1],
  },
  {
    title: "keys that are numbers",
    kind: "PeerAuthentication",
    schema: PeerAuthenticationSchema,
    specOf: (key) => ({ portLevelMtls: { [String(key)]: { mode: "STRICT" } } }),
    path: "portLevelMtls",
    accepted: [["8080", { "8080": { mode: "STRICT" } }]],
    refused: ["0x10", "+3", "03", "1e2", "3.0", "x", "", "-1", "4294967296"],
  },
  {
    title: "names of enumerations",
    kind: "DestinationRule",
    schema: DestinationRuleSchema,
    specOf: (simple) => ({ trafficPolicy: { loadBalancer: { simple } } }),
    path: "trafficPolicy.loadBalancer.simple",
    accepted: [
      ["ROUND_ROBIN", "ROUND_ROBIN"],
      [5, "LEAST_REQUEST"],
    ],
    refused: ["round_robin", " ROUND_ROBIN", "1", "", 1.5, true, ["ROUND_ROBIN"]],
  },
  {
    title: "booleans",
    kind: "DestinationRule",
    schema: DestinationRuleSchema,
    specOf: (useClientProtocol) => ({ trafficPolicy: { connectionPool: { http: { useClientProtocol } } } }),
    path: "trafficPolicy.connectionPool.http.useClientProtocol",
    accepted: [[true, true]],
    refused: ["true", "yes", 1, 0, "", []],
  },
];

const groups: Readonly<Record<string, string>> = { PeerAuthentication: "security.istio.io/v1" };

/** Returns the decoded spec as JSON, although it may be invalid, and the paths of errors. */
function read({ kind, schema }: Field, spec: object): { spec: unknown; errors: readonly string[] } {
  const manifest = { apiVersion: groups[kind] ?? "networking.istio.io/v1", kind, metadata: { name: "a" }, spec };
  const [decoded] = decode(manifest, { acceptInvalid: true });
  const paths = (decoded?.issues ?? []).filter((i) => i.severity === "error").map((i) => i.path.slice(1).join("."));
  const content = decoded?.outcome === "accepted" ? decoded.object.spec : undefined;
  return { spec: content === undefined ? undefined : toJson(schema, content as never), errors: paths };
}

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce((inner: unknown, part) => (inner as Record<string, unknown> | undefined)?.[part], value);

describe.each(fields)("$title are read as Go's decoder reads them", (field) => {
  test.each(field.accepted)("%j", (value, expected) => {
    expect(at(read(field, field.specOf(value)).spec, field.path)).toEqual(expected);
  });

  test.each(field.refused.map((value) => [value]))("not %j", (value) => {
    const { errors } = read(field, field.specOf(value));
    expect(errors.filter((path) => path.startsWith(field.path))).not.toEqual([]);
  });
});

test("of a field's two names, the one of JSON applies", () => {
  const spec = { host: "a.example.com", trafficPolicy: { portLevelSettings: [] }, traffic_policy: { tls: {} } };
  const [decoded] = decode(
    { apiVersion: "networking.istio.io/v1", kind: "DestinationRule", metadata: { name: "a" }, spec },
    { acceptInvalid: true },
  );
  expect(decoded?.outcome === "accepted" && toJson(DestinationRuleSchema, decoded.object.spec as never)).toEqual({
    host: "a.example.com",
    trafficPolicy: {},
  });
  const lists = { hosts: ["a.example.com"], export_to: ["*"], exportTo: ["."], http: [{ redirect: { uri: "/a" } }] };
  const [virtual] = decode({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "a" },
    spec: lists,
  });
  expect(virtual?.outcome === "accepted" && toJson(VirtualServiceSchema, virtual.object.spec as never)).toMatchObject({
    exportTo: ["."],
  });
});

describe("times that do not exist are refused", () => {
  const outcome = (creationTimestamp: string): string | undefined =>
    decode({ apiVersion: "v1", kind: "Namespace", metadata: { name: "a", creationTimestamp } })[0]?.outcome;

  test.each([
    ...["2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z"],
    ...["2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z"],
    ...[
      "2024-01-01T00:60:00Z",
      "2024-12-31T23:59:60Z",
      "2024-01-01T00:00:00+25:00",
      "2024-01-01T00:00:00",
      "2024-01-01",
    ],
    ...["2024-01-01T00:00:00z", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00Z ", "24-01-01T00:00:00Z"],
  ])("%s", (time) => expect(outcome(time)).toBe("rejected"));

  test.each(["2024-02-29T23:59:59Z", "2000-02-29T00:00:00.123456789+02:00", "2024-01-31T12:00:00-00:30"])(
    "%s exists",
    (time) => expect(outcome(time)).toBe("accepted"),
  );
});

describe("YAML without a form in JSON is refused, as by sigs.k8s.io/yaml", () => {
  const value = (text: string): unknown => {
    const parsed = parseYaml({ text, line: 1 });
    return "message" in parsed ? `line ${parsed.line}: ${parsed.message}` : parsed.value;
  };

  test.each([
    ...["[1]: a", "? {b: c}\n: d", "? [a]\n: d", "- ? [a]\n  : d", "a: {[b]: c}", "? &k [a]\n: 1", "{{a: b}: c}"],
    ...["~: d", "null: d", "a: {null: d}", "? null\n: d", ": d", "a: {? : d}", "a:\n  - Null: d"],
    ...["a: .inf", "a: -.Inf", "a: .nan", "a: [+.INF]", "a: {b: .NaN}", "- .inf", "a: !!float .inf"],
    ...["a: !!binary '#'", "a: !!binary aGk", "a: !!binary 'a GV s'", "a: !!timestamp 2024-02-30", "a: !!int x"],
    ...["a: !!int 1.5", "a: !!float x", "a: !!bool x", "a: !!null x", "a: !!timestamp x", "a: !!int ''"],
  ])("%j", (text) =>
    expect(value(text)).toMatch(/^line \d+: a (?:value is not of type !!|list or|key is null|number is infinite)/),
  );

  test.each<[string, unknown]>([
    ["a: !!binary aGk=", "hi"],
    ["a: !!binary |\n  aGkK\n  aGkK", "hi\nhi\n"],
    ["a: !!binary gIA=", "\ufffd\ufffd"],
    ["a: !!timestamp 2024-02-29", "2024-02-29"],
    ["a: 2024-02-30", "2024-02-30"],
    ["a: !!set {b}", { b: null }],
    ["a: !!omap [b: c]", [{ b: "c" }]],
    ["a: !!pairs [b: c]", [{ b: "c" }]],
    ["a: !!float 1", 1],
    ["a: !!float '1.5'", 1.5],
    ["a: !!int '3'", 3],
    ["a: !!int 0x1F", 31],
    ["a: !!bool 'yes'", true],
    ["a: !!null ~", null],
    ["a: !!str .inf", ".inf"],
    ["a: '.nan'", ".nan"],
    ["a: x.inf", "x.inf"],
    ["a: 0o7", 7],
    ["a: 0o8", "0o8"],
    ["a: !!merge <<", "<<"],
    ["a: |-\n  null: x\n  [1]: y\n  .inf", "null: x\n[1]: y\n.inf"],
  ])("%j has one", (text, expected) => expect(value(text)).toEqual({ a: expected }));

  test("a binary key is text", () => expect(value("!!binary aGk=: b")).toEqual({ hi: "b" }));
});

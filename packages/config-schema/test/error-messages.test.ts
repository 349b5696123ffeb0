import { formatProblem, readText } from "@istiod/config-schema";
import { expect, test } from "vitest";

const networking = "apiVersion: networking.istio.io/v1\n";
const security = "apiVersion: security.istio.io/v1\n";

const object = (kind: string, spec: string, group = networking): string =>
  `${group}kind: ${kind}\nmetadata: {name: x, namespace: "n"}\nspec:\n${spec.replace(/^/gm, "  ")}\n`;

const route = "route: [{destination: {host: a.b}}]";

test.each<[string, string, string]>([
  [
    "a document that is not an object",
    "just text",
    '1: is "just text", expected a Kubernetes object: apiVersion, kind, metadata',
  ],
  ["no kind", "apiVersion: v1\nmetadata: {name: x}\n", "1: kind: is missing, expected a kind such as VirtualService"],
  [
    "a mapping that is not an object",
    "swagger: '2.0'\n",
    "1: has neither apiVersion nor kind, expected a Kubernetes object",
  ],
  [
    "no name",
    `${networking}kind: Gateway\nmetadata: {namespace: "n"}\n`,
    "3: metadata.name: is missing, expected a name",
  ],
  [
    "a name that is a number",
    `${networking}kind: Gateway\nmetadata:\n  name: 7\n`,
    "4: metadata.name: is 7, expected a name",
  ],
  [
    "a version that is not served",
    object("VirtualService", "{}", "apiVersion: networking.istio.io/v2\n"),
    "1: VirtualService n/x: apiVersion: is networking.istio.io/v2, expected networking.istio.io/v1 or networking.istio.io/v1beta1 or networking.istio.io/v1alpha3",
  ],
  [
    "a label that is not text",
    `${networking}kind: Sidecar\nmetadata:\n  name: x\n  labels:\n    a: 1\nspec: {egress: [{hosts: ["*/*"]}]}\n`,
    "6: Sidecar default/x: metadata.labels.a: is 1, expected a string (quote it)",
  ],
  [
    "a time",
    `${networking}kind: Sidecar\nmetadata: {name: x, creationTimestamp: yesterday}\nspec: {egress: [{hosts: ["*/*"]}]}\n`,
    '3: Sidecar default/x: metadata.creationTimestamp: is "yesterday", expected a time such as 2024-01-31T12:00:00Z',
  ],
  [
    "a misspelt field",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- routes: []`),
    "7: VirtualService n/x: http[0].routes: is not a field of HTTPRoute; did you mean route?",
  ],
  [
    "a field with a letter too few",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- ${route}\n  headrs: {}`),
    "8: VirtualService n/x: http[0].headrs: is not a field of HTTPRoute; did you mean headers?",
  ],
  [
    "a field that is near none of many",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- ${route}\n  colour: {}`),
    "8: VirtualService n/x: http[0].colour: is not a field of HTTPRoute",
  ],
  [
    "a field that is near none of few",
    object("Gateway", "gates: {}"),
    "5: Gateway n/x: gates: is not a field of Gateway, which has servers, selector",
  ],
  [
    "a type",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- ${route}\n  timeout: soon`),
    '8: VirtualService n/x: http[0].timeout: is "soon", expected a duration such as 1.5s',
  ],
  [
    "a value of an enumeration",
    object("DestinationRule", "host: a\ntrafficPolicy:\n  loadBalancer: {simple: RANDON}"),
    '7: DestinationRule n/x: trafficPolicy.loadBalancer.simple: is "RANDON", expected one of UNSPECIFIED, LEAST_CONN, RANDOM, PASSTHROUGH, ROUND_ROBIN, LEAST_REQUEST',
  ],
  [
    "two of one",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- match: [{uri: {exact: /a, prefix: /b}}]\n  ${route}`),
    "7: VirtualService n/x: http[0].match[0].uri.prefix: excludes exact: only one of them can be set",
  ],
  [
    "a duration that is too short",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- ${route}\n  timeout: 0s`),
    "8: VirtualService n/x: http[0].timeout: is 0s, expected at least 1ms",
  ],
  [
    "a pattern",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- match:\n  - uri: {regex: "(?=a)"}\n  ${route}`),
    "8: VirtualService n/x: http[0].match[0].uri.regex: is not an RE2 pattern: ",
  ],
  [
    "a long pattern",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- match:\n  - uri: {regex: "${"a".repeat(1025)}"}\n  ${route}`),
    "8: VirtualService n/x: http[0].match[0].uri.regex: has 1025 bytes, expected at most 1024",
  ],
  [
    "hosts that overlap",
    object("VirtualService", `hosts: ["*.b", a.b]\nhttp: [{${route}}]`),
    '5: VirtualService n/x: hosts[1]: is "a.b", which overlaps "*.b"',
  ],
  [
    "no destination for traffic",
    object(
      "VirtualService",
      "hosts: [a.b]\nhttp:\n- route:\n  - {destination: {host: a.b}, weight: 0}\n  - {destination: {host: a.b}, weight: 0}",
    ),
    "7: VirtualService n/x: http[0].route: has weights of 0 in all, expected some traffic to go somewhere",
  ],
  [
    "a gateway without TLS",
    object("Gateway", "servers:\n- port: {number: 443, name: https, protocol: HTTPS}\n  hosts: [a.b]"),
    "6: Gateway n/x: servers[0].tls: is missing, expected TLS settings for protocol HTTPS",
  ],
  [
    "a short host of a gateway",
    object("Gateway", "servers:\n- port: {number: 80, name: http, protocol: HTTP}\n  hosts: [a]"),
    '7: Gateway n/x: servers[0].hosts[0]: is "a", expected a full name with a dot: short names are not allowed here',
  ],
  [
    "a range with DNS",
    object("ServiceEntry", "hosts: [a.b]\nresolution: DNS\naddresses: [10.0.0.0/8]\nports: [{number: 80, name: http}]"),
    "7: ServiceEntry n/x: addresses: has a CIDR range with resolution DNS, expected ranges only with NONE and STATIC",
  ],
  [
    "a port out of range",
    object("ServiceEntry", "hosts: [a.b]\nresolution: DNS\nports:\n- {number: 99999, name: http}"),
    "8: ServiceEntry n/x: ports[0].number: is 99999, expected 1 to 65535",
  ],
  [
    "ports of a workload that its service lacks",
    object(
      "ServiceEntry",
      "hosts: [a.b]\nresolution: STATIC\nports: [{number: 80, name: http}]\nendpoints:\n- address: 1.2.3.4\n  ports: {grpc: 80}",
    ),
    "10: ServiceEntry n/x: endpoints[0].ports.grpc: is not a port of the service, expected the name of one",
  ],
  [
    "an empty Sidecar",
    object("Sidecar", "{}"),
    "4: Sidecar n/x: spec: is empty, expected egress, ingress, outboundTrafficPolicy or inboundConnectionPool",
  ],
  [
    "a Sidecar's host without a namespace",
    object("Sidecar", "egress:\n- hosts: [a.b]"),
    '6: Sidecar n/x: egress[0].hosts[0]: is "a.b", expected namespace/host',
  ],
  [
    "an empty DENY",
    object("AuthorizationPolicy", "action: DENY", security),
    "4: AuthorizationPolicy n/x: rules: is empty, expected a rule ({} for every request): without one DENY does nothing",
  ],
  [
    "an address",
    object("AuthorizationPolicy", "rules:\n- from:\n  - source: {ipBlocks: [10.0.0.0/33]}", security),
    '7: AuthorizationPolicy n/x: rules[0].from[0].source.ipBlocks[0]: is "10.0.0.0/33", expected an IP address or a range such as 10.0.0.0/8',
  ],
  [
    "ports without a selector",
    object("PeerAuthentication", "portLevelMtls:\n  80: {mode: STRICT}", security),
    "5: PeerAuthentication n/x: portLevelMtls: is set, expected also a selector with labels",
  ],
  [
    "a URL",
    object("RequestAuthentication", "jwtRules:\n- issuer: a\n  jwksUri: ftp://a.b", security),
    '7: RequestAuthentication n/x: jwtRules[0].jwksUri: is "ftp://a.b", expected a URL with http:// or https://',
  ],
  [
    "an expression",
    object("Telemetry", 'accessLogging:\n- filter: {expression: ")++"}', "apiVersion: telemetry.istio.io/v1\n"),
    "6: Telemetry n/x: accessLogging[0].filter.expression: is not valid CEL: it ",
  ],
  [
    "a port of a Service",
    "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec:\n  ports:\n  - port: http\n",
    '6: Service default/x: ports[0].port: is "http", expected a port number from 1 to 65535',
  ],
  [
    "data of a Secret",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata:\n  a: 'not base64!'\n",
    "5: Secret default/x: data.a: is not base64, as values of data are (plain text goes under stringData)",
  ],
  [
    "an item of a List",
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: x}\n  spec:\n    ports: [{}]\n`,
    "8: Service default/x: ports[0].port: is missing, expected a port number from 1 to 65535",
  ],
  [
    "a name that is a boolean of YAML 1.1",
    `${networking}kind: Gateway\nmetadata:\n  name: y\n`,
    "4: metadata.name: is true, expected a name (y is a boolean in YAML 1.1; quote it)",
  ],
  [
    "a namespace that is a boolean of YAML 1.1",
    `${networking}kind: Gateway\nmetadata: {name: x, namespace: off}\n`,
    "3: metadata.namespace: is false, expected the name of a namespace (off is a boolean in YAML 1.1; quote it)",
  ],
  [
    "a label that is a version number",
    `${networking}kind: Sidecar\nmetadata:\n  name: x\n  labels:\n    version: 1.10\nspec: {egress: [{hosts: ["*/*"]}]}\n`,
    "6: Sidecar default/x: metadata.labels.version: is 1.1, expected a string (1.10 is a number in YAML; quote it)",
  ],
  [
    "a string of a message that is a boolean",
    object("VirtualService", `hosts: [a.b]\nhttp:\n- ${route}\n  headers: {request: {set: {debug: on}}}`),
    "8: VirtualService n/x: http[0].headers.request.set.debug: is true, expected a string (on is a boolean in YAML 1.1; quote it)",
  ],
  [
    "a string of a message that is a mapping",
    object("DestinationRule", "host: {a: b}"),
    "5: DestinationRule n/x: host: is a mapping, expected a string",
  ],
  [
    "a string of a Service",
    "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec:\n  selector: {app: n}\n",
    "5: Service default/x: selector.app: is false, expected a string (n is a boolean in YAML 1.1; quote it)",
  ],
  [
    "a name in an item of a List",
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: no}\n`,
    "6: metadata.name: is false, expected a name (no is a boolean in YAML 1.1; quote it)",
  ],
  [
    "a key that is set twice",
    `${networking}kind: Gateway\nmetadata:\n  name: a\n  name: b\n`,
    '5: is not YAML: key "name" is already set on line 4',
  ],
  ["YAML", "# first\na: [b\n", "3: is not YAML: "],
])("%s", (_, text, expected) => {
  const readings = readText(text, "f.yaml");
  const errors = readings.flatMap((r) => r.problems).filter((p) => p.severity === "error");
  expect(errors.map(formatProblem)).toEqual([expect.stringContaining(`f.yaml:${expected}`)]);
  expect(readings.every((r) => r.objects.every((o) => o.object === undefined))).toBe(true);
});

test("warnings do not set an object aside", () => {
  const [reading] = readText(object("VirtualService", `hosts: [a.b]\nhttp:\n- ${route}\n- ${route}`), "f.yaml");
  expect(reading?.problems.map(formatProblem)).toEqual([
    "f.yaml:8: VirtualService n/x: http[1]: is never reached: #0 matches everything",
  ]);
  expect(reading?.problems[0]?.severity).toBe("warning");
  expect(reading?.objects[0]?.object).toBeDefined();
});

test.each([
  ["a number", "stringData: {password: 1234567}", "stringData.password: is a number, expected a string (quote it)"],
  ["a boolean", "stringData: {password: yes}", "stringData.password: is a boolean, expected a string (quote it)"],
  ["plain text in the place of a mapping", "stringData: 1234567", "stringData: is a number, expected a mapping"],
  [
    "data that is not base64",
    'data: {password: "1234567"}',
    "data.password: is not base64, as values of data are (plain text goes under stringData)",
  ],
  [
    "text that reads as an alias",
    "stringData: {password: *1234567}",
    "is not YAML: Unresolved alias (the anchor must be set before the alias)",
  ],
  ["text that reads as a tag", "stringData: {password: !1234567 x}", undefined],
])("says nothing of what is secret: %s", (_, data, expected) => {
  const problems = readText(`apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n${data}\n`, "f.yaml").flatMap(
    (reading) => reading.problems,
  );
  const told = problems.map(formatProblem);
  if (expected !== undefined) expect(told).toEqual([expect.stringContaining(expected)]);
  expect(told.join()).not.toContain("1234567");
});

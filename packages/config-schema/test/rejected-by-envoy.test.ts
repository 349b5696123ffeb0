import { expect, test } from "vitest";
import { decode } from "../src/index.js";

/** Returns the errors of an object as `path: message`, without `spec`. */
function errorsOf(apiVersion: string, kind: string, spec: object): string[] {
  return decode({ apiVersion, kind, metadata: { name: "a", namespace: "shop" }, spec }).flatMap(({ issues }) =>
    issues
      .filter(({ severity }) => severity === "error")
      .map(({ path, message }) => `${path.slice(1).join(".")}: ${message}`),
  );
}

const policy = (rule: object): string[] =>
  errorsOf("security.istio.io/v1", "AuthorizationPolicy", { action: "DENY", rules: [rule] });
const paths = (path: string): string[] =>
  policy({ to: [{ operation: { paths: [path] } }] }).map((error) =>
    error.replace("rules.0.to.0.operation.paths.0: ", ""),
  );

test("path templates of another form than the documented one are rejected", () => {
  expect(paths("{*}")).toEqual(['is "{*}", expected it to begin with /']);
  expect(paths("a/{**}")).toEqual(['is "a/{**}", expected it to begin with /']);
  expect(paths("//{*}")).toEqual(['is "//{*}", expected no empty segment']);
  expect(paths("/a//{*}")).toEqual([
    'is "/a//{*}", expected no empty segment',
    'is "/a//{*}", expected valid path segments, {*} or {**}',
  ]);
  expect(paths("/é/{*}")).toEqual(['is "/é/{*}", expected valid path segments, {*} or {**}']);
});

test("path templates whose pattern is too large are rejected", () => {
  expect(paths(`/${"a".repeat(1024)}/{*}`)).toEqual(["has 1029 bytes, expected at most 1024"]);
  expect(paths("/{*}".repeat(33))).toEqual(["has 33 operators, expected at most 32"]);
});

test("honest path templates are accepted", () => {
  for (const path of ["/{*}", "/{**}", "/a/{*}/b/", "/a/{**}/b", "/a.b/{*}/{**}", "/{*}".repeat(32), "a//b", "*"])
    expect([path, paths(path)]).toEqual([path, []]);
});

test("values that become patterns are bounded", () => {
  const long = "x".repeat(1025);
  for (const field of ["namespaces", "notNamespaces", "trustDomains", "principals", "requestPrincipals"]) {
    expect(policy({ from: [{ source: { [field]: [long] } }] })).toEqual([
      `rules.0.from.0.source.${field}.0: has 1025 bytes, expected at most 1024`,
    ]);
    expect(policy({ from: [{ source: { [field]: [long.slice(1)] } }] })).toEqual([]);
  }
  expect(policy({ when: [{ key: "source.namespace", notValues: [long] }] })).toEqual([
    "rules.0.when.0.notValues.0: has 1025 bytes, expected at most 1024",
  ]);
});

const filter = (expression: string): string[] =>
  errorsOf("telemetry.istio.io/v1", "Telemetry", { accessLogging: [{ filter: { expression } }] }).map((error) =>
    error.replace("accessLogging.0.filter.expression: ", ""),
  );

test("expressions that make Envoy reject a listener are rejected", () => {
  expect(filter("[1].exists(x, x == 1)")).toEqual([
    "has the macro exists(), and proxies do not support macros over lists",
  ]);
  expect(filter("true && foo(1)")).toEqual(["calls foo(), which proxies do not know"]);
  expect(filter("Foo{a: 1} == 1")).toEqual([
    "creates Foo, expected a message of the package google.protobuf, such as google.protobuf.Duration",
  ]);
  expect(filter("google.protobuf.Duration{second: 1} == 1")).toEqual([
    "creates google.protobuf.Duration with the field second, which it does not have",
  ]);
  expect(filter("request.path.matches('[')")).toEqual(['has the pattern "[", which is not an RE2 pattern']);
  expect(filter("matches(request.path, 'a{100}')")).toEqual([
    'has the pattern "a{100}", which compiles to a program of more than 100 instructions: proxies reject larger ones in expressions',
  ]);
  expect(filter("has(request.headers['x'])")).toEqual(["calls has() with something else than a field, such as a.b"]);
  expect(filter("string(response.code) == '200'")).toEqual(["calls string(), which proxies do not know"]);
  expect(filter("getHours(request.time) > 3")).toEqual([
    "calls getHours() without a target and with 1 argument, which proxies do not know",
  ]);
  expect(filter("request.path.contains('a', 'b')")).toEqual([
    "calls contains() with a target and 2 arguments, which proxies do not know",
  ]);
  expect(filter("extract(request.path, 'a', 'b') == ''")).toEqual(["calls extract(), which proxies do not know"]);
  expect(filter("!-a")).toEqual(['is not valid CEL: it has "- a", expected a value']);
  expect(filter("9223372036854775808 > 1")).toEqual([
    "is not valid CEL: it has 9223372036854775808, which has more than 64 bits",
  ]);
  expect(filter("loop == 1")).toEqual(["is not valid CEL: it refers to loop, which is a reserved word"]);
  expect(filter("a.?b")).toEqual(['is not valid CEL: it has "? b", expected the name of a field']);
  expect(filter(`${"1+".repeat(31)}1 == 31`)).toEqual(["is not valid CEL: it is nested more than 32 levels deep"]);
  expect(filter("a".repeat(100_001))).toEqual(["has more than 100000 characters"]);
});

test("honest expressions are accepted", () => {
  for (const expression of [
    "response.code >= 400",
    "request.url_path.matches('^/api/v[0-9]+/.*$') || connection.mtls == false",
    "has(request.headers.`x-debug`) && !request.path.startsWith('/healthz')",
    "'a' in request.headers && size(request.headers['a']) > 3",
    "request.duration > duration('1s') && request.time < timestamp('2030-01-01T00:00:00Z')",
    "request.duration > google.protobuf.Duration{seconds: 1}",
    "re.extract(request.path, 'a', 'b') == 'c'",
    "{'a': 1}['a'] == 1 ? true : false",
    "xds.cluster_name != 'PassthroughCluster'",
    "// errors only\nresponse.code >= 500 // and no others",
    "request.headers.`x-y`.size() > 0 && request.time.getHours('UTC') < 8",
    `${"response.code != 200 && ".repeat(200)}true`,
  ])
    expect([expression, filter(expression)]).toEqual([expression, []]);
});

const headers = (value: string): string[] =>
  errorsOf("networking.istio.io/v1", "VirtualService", {
    hosts: ["a.example.com"],
    http: [{ redirect: { uri: "/" }, headers: { response: { set: { "x-a": value } } } }],
  }).map((error) => error.replace("http.0.headers.response.set.x-a: ", ""));

const tag = (value: string): string[] =>
  errorsOf("telemetry.istio.io/v1", "Telemetry", {
    tracing: [{ customTags: { a: { formatter: { value } } } }],
  }).map((error) => error.replace("tracing.0.customTags.a.formatter.value: ", ""));

test("variables that proxies do not have are rejected, in headers and in tags of traces", () => {
  for (const [value, fault] of [
    ["%CLIENT_ADDRESS%", 'has "%CLIENT_ADDRESS%", but proxies have no variable CLIENT_ADDRESS'],
    [
      "%RESPONSE_CODES%",
      'has "%RESPONSE_CODES%", but proxies have no variable RESPONSE_CODES; did you mean RESPONSE_CODE?',
    ],
    ["%PROTOCOL:3%", 'has "%PROTOCOL:3%", but PROTOCOL takes no length'],
    ["%PROTOCOL(x)%", 'has "%PROTOCOL(x)%", but PROTOCOL takes no argument'],
    ["%REQ%", 'has "%REQ%", but REQ requires an argument, %REQ(…)%'],
    ["%REQ(a?b?c)%", 'has "%REQ(a?b?c)%", expected a header and at most one alternative, %REQ(NAME?ALTERNATIVE)%'],
    ["%REQ(a b)%", 'has "%REQ(a b)%", but "a b" is not the name of a header'],
    ["%START_TIME(%n)%", 'has "%START_TIME(%n)%", but a time format may not print a newline'],
    ["%FILTER_STATE(a:JSON)%", 'has "%FILTER_STATE(a:JSON)%", but the serialization is PLAIN, TYPED or FIELD'],
    ["%REQ_WITHOUT_QUERY(a)%", 'has "%REQ_WITHOUT_QUERY(a)%", but proxies have no variable REQ_WITHOUT_QUERY'],
    ["%CEL(string(a))%", 'has "%CEL(string(a))%", but the expression calls string(), which proxies do not know'],
    ["%COALESCE([])%", 'has "%COALESCE([])%", expected {"operators": […]} with at least one operator'],
    ["50%", 'has "%", expected a variable such as %PROTOCOL%, %REQ(NAME)% or %REQ(NAME):10%, or %% for a percent sign'],
  ] as const) {
    expect([value, headers(value)]).toEqual([value, [fault]]);
    expect([value, tag(value)]).toEqual([value, [fault]]);
  }
});

test("the variables of proxies are accepted, in headers and in tags of traces", () => {
  for (const value of [
    "%REQ(x-b?x-c):10%",
    "100%% %HOSTNAME%",
    "%START_TIME(%Y-%m-%d)%",
    "%DYNAMIC_METADATA(a:b)%",
    "%CEL(request.headers['x-a'])%",
    '%COALESCE({"operators":[{"command":"REQ","param":"x-a"},"HOSTNAME"]})%',
    "%REQUESTED_SERVER_NAME(SNI_FIRST:HOST)%",
  ]) {
    expect([value, headers(value)]).toEqual([value, []]);
    expect([value, tag(value)]).toEqual([value, []]);
  }
  expect(headers('%UPSTREAM_METADATA(["istio", "a"])%')).toEqual([]);
  expect(headers("%PER_REQUEST_STATE(a)%")).toEqual([]);
  expect(tag("%PER_REQUEST_STATE(a)%")).toHaveLength(1);
});

test("tags of traces from headers with control characters are rejected", () => {
  const spec = (name: string): object => ({ tracing: [{ customTags: { a: { header: { name } } } }] });
  expect(errorsOf("telemetry.istio.io/v1", "Telemetry", spec("x\nb"))).toEqual([
    "tracing.0.customTags.a.header.name: has a control character, expected the name of a header",
  ]);
});

const route = (http: object): string[] =>
  errorsOf("networking.istio.io/v1", "VirtualService", { hosts: ["a.example.com"], http: [http] }).map((error) =>
    error.replace("http.0.", ""),
  );
const cart = { route: [{ destination: { host: "cart" } }] };

test("headers, redirects and rewrites that make Envoy reject a route configuration are rejected", () => {
  for (const operation of ["set", "add"])
    expect(route({ ...cart, headers: { response: { [operation]: { "x\nb": "x" } } } })).toEqual([
      `headers.response.${operation}.x\nb: has a control character in its name, expected the name of a header`,
    ]);
  expect(route({ ...cart, headers: { request: { remove: ["x\0"] } } })).toHaveLength(1);
  for (const redirectCode of [300, 304, 305, 306, 399])
    expect(route({ redirect: { uri: "/", redirectCode } })).toEqual([
      `redirect.redirectCode: is ${redirectCode}, expected 301, 302, 303, 307 or 308, which proxies can send`,
    ]);
  for (const redirectCode of [301, 302, 303, 307, 308])
    expect(route({ redirect: { uri: "/", redirectCode } })).toEqual([]);
  for (const field of ["uri", "authority", "prefixRewrite"])
    expect(route({ redirect: { [field]: "/a\r\nb" } })).toEqual([
      `redirect.${field}: has a control character, expected text`,
    ]);
  for (const field of ["uri", "authority"])
    expect(route({ ...cart, rewrite: { [field]: "/a\nb" } })).toEqual([
      `rewrite.${field}: has a control character, expected text`,
    ]);
});

test("names of query parameters are bounded", () => {
  const long = "x".repeat(1025);
  expect(route({ ...cart, match: [{ queryParams: { [long]: { exact: "a" } } }] })).toEqual([
    `match.0.queryParams.${long}: has a name of 1025 bytes, expected 1 to 1024`,
  ]);
  expect(route({ ...cart, match: [{ queryParams: { "": { exact: "a" } } }] })).toHaveLength(1);
});

test("durations and weights that Envoy cannot hold are rejected", () => {
  expect(route({ ...cart, timeout: "9223372036s" })).toEqual(["timeout: is 9223372036s, expected at most 9223372035s"]);
  expect(route({ ...cart, timeout: "9223372035s" })).toEqual([]);
  const weighted = (weight: number): object => ({ destination: { host: "cart" }, weight });
  expect(route({ route: [weighted(2 ** 31 - 1), weighted(2 ** 31 - 1), weighted(2)] })).toEqual([
    "route: has weights of 4294967296 in all, expected at most 4294967295",
  ]);
  expect(route({ route: [weighted(2 ** 31 - 1), weighted(2 ** 31 - 1), weighted(1)] })).toEqual([]);
});

test("line breaks in the headers of tokens are rejected", () => {
  const errors = (fromHeader: object): string[] =>
    errorsOf("security.istio.io/v1", "RequestAuthentication", {
      jwtRules: [{ issuer: "example.com", jwksUri: "https://example.com/keys", fromHeaders: [fromHeader] }],
    });
  expect(errors({ name: "x-token\n", prefix: "Bearer " })).toEqual([
    'jwtRules.0.fromHeaders.0.name: is "x-token\\n", expected the name of a header',
  ]);
  expect(errors({ name: "x-token", prefix: "a\r\n" })).toEqual([
    'jwtRules.0.fromHeaders.0.prefix: is "a\\r\\n", expected no line break',
  ]);
  expect(errors({ name: "x-token", prefix: "Bearer " })).toEqual([]);
});

test("headers larger than Envoy's limits are rejected, at routes and at destinations", () => {
  const long = "x".repeat(16_385);
  const value = "has a value of 16385 bytes, expected at most 16384";
  expect(route({ ...cart, headers: { request: { set: { "x-a": long } } } })).toEqual([
    `headers.request.set.x-a: ${value}`,
  ]);
  expect(route({ ...cart, headers: { request: { set: { "x-a": long.slice(1) } } } })).toEqual([]);
  expect(
    route({ route: [{ destination: { host: "cart" }, headers: { response: { add: { "x-a": "é".repeat(8193) } } } }] }),
  ).toEqual(["route.0.headers.response.add.x-a: has a value of 16386 bytes, expected at most 16384"]);
  expect(route({ ...cart, headers: { request: { add: { [long]: "a" } } } })).toEqual([
    `headers.request.add.${long}: has a name of 16385 bytes, expected at most 16384`,
  ]);
  const many = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "a"]));
  expect(route({ ...cart, headers: { request: { add: many(500), set: many(501) } } })).toEqual([
    "headers.request: adds and sets 1001 headers, expected at most 1000",
  ]);
  expect(route({ ...cart, headers: { request: { add: many(500), set: many(500) } } })).toEqual([]);
});

test("status 600 is rejected, which Istio accepts", () => {
  expect(route({ directResponse: { status: 600 } })).toEqual(["directResponse.status: is 600, expected 200 to 599"]);
  expect(route({ ...cart, fault: { abort: { httpStatus: 600 } } })).toEqual([
    "fault.abort.httpStatus: is 600, expected 200 to 599",
  ]);
  expect(route({ directResponse: { status: 599 } })).toEqual([]);
});

test("keys of conditions with which Envoy rejects a listener are rejected", () => {
  const key = (text: string): string[] => policy({ when: [{ key: text, values: ["a"] }] });
  expect(key("request.auth.claims[a][]")).toEqual([
    'rules.0.when.0.key: is "request.auth.claims[a][]", expected no empty brackets',
  ]);
  expect(key("request.headers[a\nb]")).toEqual(["rules.0.when.0.key: has a control character, expected text"]);
  expect(key("request.auth.claims[a][b]")).toEqual([]);
});

test("an SNI of more than 255 bytes is rejected", () => {
  const sni = (text: string): string[] =>
    errorsOf("networking.istio.io/v1", "DestinationRule", {
      host: "cart",
      trafficPolicy: { tls: { mode: "SIMPLE", sni: text } },
    });
  expect(sni("x".repeat(256))).toEqual(["trafficPolicy.tls.sni: has 256 bytes, expected at most 255"]);
  expect(sni("x".repeat(255))).toEqual([]);
});

test("fields of Istio's API 1.32 have the limits of their documentation and of Envoy", () => {
  const rule = (trafficPolicy: object): string[] =>
    errorsOf("networking.istio.io/v1", "DestinationRule", { host: "cart", trafficPolicy });
  const tls = { mode: "SIMPLE", caCertCredentialName: "trust" };
  expect(rule({ tls })).toEqual([]);
  expect(rule({ tls: { ...tls, caCrl: "/crl" } })).toEqual([
    "trafficPolicy.tls.caCrl: is set together with caCertCredentialName, expected the CRL in the credential",
  ]);
  expect(rule({ tls: { ...tls, insecureSkipVerify: true } })).toEqual([
    "trafficPolicy.tls.insecureSkipVerify: is true together with caCertCredentialName, expected only one of them",
  ]);
  expect(rule({ tls: { ...tls, caCertCredentialName: "configmap://other/trust" } })).toEqual([
    expect.stringContaining("trafficPolicy.tls.caCertCredentialName: is "),
  ]);
  expect(rule({ outlierDetection: { failurePercentageThreshold: 101 } })).toEqual([
    expect.stringContaining("trafficPolicy.outlierDetection.failurePercentageThreshold: is 101, expected"),
  ]);
  expect(rule({ loadBalancer: { backendUtilization: { weightStabilizationPeriod: "0s" } } })).toEqual([]);
  expect(rule({ loadBalancer: { backendUtilization: { metricNamesForComputingUtilization: [""] } } })).toEqual([
    "trafficPolicy.loadBalancer.backendUtilization.metricNamesForComputingUtilization.0: is empty, expected the name of a metric, such as cpu_utilization",
  ]);
  const server = { port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["a.example"] };
  const alpn = (...alpnProtocols: string[]): string[] =>
    errorsOf("networking.istio.io/v1", "Gateway", {
      servers: [{ ...server, tls: { mode: "SIMPLE", credentialName: "a", alpnProtocols } }],
    });
  expect(alpn("h2", "http/1.1")).toEqual([]);
  expect(alpn("h2", "")).toEqual([
    "servers.0.tls.alpnProtocols.1: has 0 bytes, expected a protocol of 1 to 255, such as h2",
  ]);
});

const script = (inlineCode: string): string[] =>
  errorsOf("extensions.istio.io/v1alpha1", "TrafficExtension", { lua: { inlineCode } }).map((error) =>
    error.replace("lua.inlineCode: is not valid Lua: ", ""),
  );

test("scripts that Envoy does not compile are rejected, with their line", () => {
  const faults = {
    "function envoy_on_request(h)\n  h:logInfo('x'\nend": `line 3: ')' expected near "end"`,
    "x y z": `line 1: '=' expected near "y"`,
    "x = 'a": `line 1: unfinished string near "'a"`,
    "x = 3x": 'line 1: malformed number near "3x"',
    "x = '\\q'": String.raw`line 1: invalid escape sequence near "\\q"`,
    "goto a local b ::a:: b()": `line 1: goto a jumps into the scope of local 'b' near "b"`,
    "goto a": `line 1: undefined label 'a' of the goto in line 1 near "<eof>"`,
    break: 'line 1: break outside a loop near "<eof>"',
    [`x = ${"(".repeat(65_000)}`]: 'line 1: more than 200 levels of nesting near "("',
  };
  for (const [text, fault] of Object.entries(faults)) expect(script(text)).toEqual([fault]);
  expect(script("\x1bLJ")).toEqual(["lua.inlineCode: begins with ESC, which marks compiled code"]);
});

test("scripts that Envoy compiles are accepted", () => {
  const scripts = [
    "function envoy_on_request(h) h:headers():add('x-a', \"b\"); end;",
    "while true do break; end",
    "goto continue; local a ::continue::",
    "f\n(x)",
    "#!/usr/bin/lua\nreturn {1, 2; a = 0x1p4, ['b'] = 1ULL}",
    "error('only when it is loaded')",
    "local naïve = [==[ ]] ]==] .. '\\x41\\z  \\u{e9}'",
  ];
  for (const text of scripts) expect([text, script(text)]).toEqual([text, []]);
});

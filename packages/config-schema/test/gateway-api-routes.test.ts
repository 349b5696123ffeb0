import { describe, expect, test } from "vitest";
import { formatProblem, type HttpRouteObject, readText, type Problem } from "@istiod/config-schema";

/** Reads a route of a kind with a spec in YAML's flow style. */
function read(kind: string, spec: string): { readonly problems: readonly Problem[]; readonly objects: unknown[] } {
  const text = `apiVersion: gateway.networking.k8s.io/v1\nkind: ${kind}\nmetadata: {name: r, namespace: shop}\nspec: ${spec}\n`;
  const readings = readText(text, "r.yaml");
  return {
    problems: readings.flatMap(({ problems }) => problems),
    objects: readings.flatMap(({ objects }) => objects.map(({ object }) => object)),
  };
}

const errors = (kind: string, spec: string): readonly string[] =>
  read(kind, spec)
    .problems.filter(({ severity }) => severity === "error")
    .map(formatProblem)
    .map((text) => text.replace(/^r\.yaml(?::\d+)?: \w+ shop\/r: /, ""));

const warnings = (kind: string, spec: string): readonly string[] =>
  read(kind, spec)
    .problems.filter(({ severity }) => severity === "warning")
    .map(formatProblem)
    .map((text) => text.replace(/^r\.yaml(?::\d+)?: \w+ shop\/r: /, ""));

describe("HTTPRoute", () => {
  test("has the defaults of the API", () => {
    const { objects, problems } = read(
      "HTTPRoute",
      `{parentRefs: [{name: edge}], rules: [
        {matches: [{headers: [{name: a, value: b}]}], retry: {codes: [503], backoff: 100ms}, timeouts: {request: 1m30s},
         filters: [{type: RequestMirror, requestMirror: {backendRef: {name: copy, port: 80}, fraction: {numerator: 1}}}],
         backendRefs: [{name: cart, port: 80}, {name: old, port: 80, weight: 0}]}]}`,
    );
    expect(problems).toEqual([]);
    expect((objects[0] as HttpRouteObject).spec).toEqual({
      parentRefs: [{ name: "edge" }],
      hostnames: [],
      rules: [
        {
          matches: [
            {
              path: { type: "PathPrefix", value: "/" },
              headers: [{ type: "Exact", name: "a", value: "b" }],
              queryParams: [],
            },
          ],
          filters: [
            {
              type: "RequestMirror",
              requestMirror: {
                backendRef: { name: "copy", port: 80 },
                fraction: { numerator: 1, denominator: 100 },
              },
            },
          ],
          backendRefs: [
            { name: "cart", port: 80, weight: 1, filters: [] },
            { name: "old", port: 80, weight: 0, filters: [] },
          ],
          timeouts: { request: 90_000 },
          retry: { codes: [503], attempts: 1, backoff: 100 },
        },
      ],
    });
  });

  test("without rules forwards nothing, but matches every request", () => {
    expect((read("HTTPRoute", "{parentRefs: [{name: edge}]}").objects[0] as HttpRouteObject).spec.rules).toEqual([
      {
        matches: [{ path: { type: "PathPrefix", value: "/" }, headers: [], queryParams: [] }],
        filters: [],
        backendRefs: [],
      },
    ]);
  });

  test.each([
    ["{parentRefs: [{group: Upper, name: a}]}", 'parentRefs[0].group: is "Upper", expected an API group'],
    ["{parentRefs: [{port: 80}]}", "parentRefs[0].name: is missing, expected a name"],
    ["{parentRefs: [{name: a, port: 0}]}", "parentRefs[0].port: is 0, expected 1 to 65535"],
    ["{parentRefs: [{name: a}, {name: a}]}", "parentRefs[1]: is a mapping, expected another parent"],
    ["{hostnames: [1.2.3.4.*]}", 'hostnames[0]: is "1.2.3.4.*", expected a domain name'],
    ["{rules: [{name: a}, {name: a}]}", 'rules[1].name: is "a", expected a name that no rule before it has'],
    ["{rules: [{matches: [{path: {value: a}}]}]}", 'rules[0].matches[0].path.value: is "a", expected an absolute path'],
    ["{rules: [{matches: [{path: {value: /a//b}}]}]}", 'matches[0].path.value: is "/a//b", expected an absolute path'],
    ["{rules: [{matches: [{path: {type: Regex}}]}]}", 'path.type: is "Regex", expected one of PathPrefix, Exact'],
    [
      '{rules: [{matches: [{path: {type: RegularExpression, value: "("}}]}]}',
      'path.value: is "(", expected a regular expression, but it',
    ],
    [
      '{rules: [{matches: [{headers: [{type: RegularExpression, name: a, value: "["}]}]}]}',
      'headers[0].value: is "[", expected a regular expression',
    ],
    [
      '{rules: [{matches: [{headers: [{type: RegularExpression, name: a, value: ""}]}]}]}',
      'headers[0].value: is "", expected a regular expression, but it is empty',
    ],
    ["{rules: [{matches: [{headers: [{name: a b, value: c}]}]}]}", 'headers[0].name: is "a b", expected the name'],
    ["{rules: [{matches: [{method: get}]}]}", 'matches[0].method: is "get", expected one of GET, HEAD'],
    ["{rules: [{backendRefs: [{name: a, weight: -1}]}]}", "backendRefs[0].weight: is -1, expected 0 to 1000000"],
    ["{rules: [{filters: [{type: Rewrite}]}]}", 'rules[0].filters[0].type: is "Rewrite", expected one of'],
    ["{rules: [{filters: [{type: URLRewrite}]}]}", "filters[0].urlRewrite: is missing, expected the settings"],
    [
      "{rules: [{filters: [{type: URLRewrite, urlRewrite: {}, cors: {}}]}]}",
      "filters[0].cors: is a mapping, expected no cors in a filter of type URLRewrite",
    ],
    [
      "{rules: [{filters: [{type: URLRewrite, urlRewrite: {}}, {type: URLRewrite, urlRewrite: {}}]}]}",
      "rules[0].filters: is a list, expected at most one filter of type URLRewrite",
    ],
    [
      "{rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {}}]}]}",
      "rules[0].filters: is a list, expected either RequestRedirect or URLRewrite",
    ],
    [
      "{rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}], backendRefs: [{name: a, port: 80}]}]}",
      "rules[0].backendRefs: is a list, expected no backends",
    ],
    [
      "{rules: [{filters: [{type: RequestRedirect, requestRedirect: {statusCode: 304}}]}]}",
      "requestRedirect.statusCode: is 304, expected one of 301",
    ],
    [
      "{rules: [{filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath}}}]}]}",
      "urlRewrite.path.replaceFullPath: is missing, expected the path that ReplaceFullPath needs",
    ],
    [
      "{rules: [{matches: [{path: {type: Exact, value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]}]}",
      "rules[0].matches: is a list, expected exactly one match of type PathPrefix",
    ],
    [
      "{rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: a}, percent: 5, fraction: {numerator: 1}}}]}]}",
      "requestMirror.fraction: is a mapping, expected either percent or fraction",
    ],
    [
      "{rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: a}, fraction: {numerator: 3, denominator: 2}}}]}]}",
      "fraction.numerator: is 3, expected at most the denominator, 2",
    ],
    [
      "{rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: a, value: '%BAD%'}]}}]}]}",
      'requestHeaderModifier.add[0].value: is "%BAD%", expected a format string of Envoy',
    ],
    [
      "{rules: [{filters: [{type: CORS, cors: {allowOrigins: ['*', 'https://a.com']}}]}]}",
      "cors.allowOrigins: is a list, expected * alone, or others",
    ],
    [
      "{rules: [{filters: [{type: CORS, cors: {allowOrigins: [a.com]}}]}]}",
      'cors.allowOrigins[0]: is "a.com", expected * or an origin',
    ],
    ["{rules: [{filters: [{type: CORS, cors: {maxAge: 0}}]}]}", "cors.maxAge: is 0, expected 1 to"],
    [
      `{rules: [{filters: [{type: CORS, cors: {allowOrigins: ["https://${"a*".repeat(130)}"]}}]}]}`,
      "expected * or an origin, such as https://*.example.com, of at most 253 characters",
    ],
    [
      '{rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [a, "x\\nb"]}}]}]}',
      'requestHeaderModifier.remove[1]: is "x\\nb", expected the name of a header',
    ],
    [
      '{rules: [{backendRefs: [{name: a, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: ["x\\rb"]}}]}]}]}',
      'responseHeaderModifier.remove[0]: is "x\\rb", expected the name of a header',
    ],
    [
      `{rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: ${"x".repeat(16_385)}}]}}]}]}`,
      "expected at most 16384 bytes, which proxies accept",
    ],
    [
      `{rules: [{backendRefs: [${Array.from({ length: 4295 }, () => "{name: a, weight: 1000000}").join(", ")}]}]}`,
      "rules[0].backendRefs: is a list, expected weights of at most 4294967295 in all, not 4295000000",
    ],
    ["{rules: [{timeouts: {request: 10}}]}", "timeouts.request: is 10, expected a string"],
    ["{rules: [{timeouts: {request: 1.5s}}]}", 'timeouts.request: is "1.5s", expected a duration such as'],
    [
      "{rules: [{timeouts: {request: 1s, backendRequest: 2s}}]}",
      'backendRequest: is "2s", expected at most the timeout',
    ],
    ["{rules: [{retry: {codes: [200]}}]}", "retry.codes[0]: is 200, expected 400 to 599"],
    ["{rules: [{retry: {attempts: -1}}]}", "retry.attempts: is -1, expected 0 to"],
  ])("%s is rejected", (spec, expected) => {
    expect(errors("HTTPRoute", spec)).toEqual([expect.stringContaining(expected)]);
  });

  test.each([
    ["{useDefaultGateways: All}", "useDefaultGateways: has no effect: no Gateway of istiod is a default Gateway"],
    ["{rules: [{sessionPersistence: {type: Cookie}}]}", "rules[0].sessionPersistence: has no effect: istiod does not"],
    ["{rules: [{timeout: {request: 1s}}]}", "rules[0].timeout: is unknown and has no effect"],
    ["{parentRefs: [{name: a, section: b}]}", "parentRefs[0].section: is unknown and has no effect"],
  ])("%s is accepted, and its lack of effect is said", (spec, expected) => {
    expect(errors("HTTPRoute", spec)).toEqual([]);
    expect(warnings("HTTPRoute", spec)).toEqual([expect.stringContaining(expected)]);
  });

  test("a rule without matches, a redirect and a CORS policy have the defaults of the API", () => {
    const { objects } = read(
      "HTTPRoute",
      `{rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}]}, {matches: [], filters: [{type: CORS, cors: {}}]}]}`,
    );
    const [redirect, cors] = (objects[0] as HttpRouteObject).spec.rules;
    expect(redirect?.matches).toEqual([{ path: { type: "PathPrefix", value: "/" }, headers: [], queryParams: [] }]);
    expect(redirect?.filters).toEqual([{ type: "RequestRedirect", requestRedirect: { statusCode: 302 } }]);
    expect(cors?.matches).toEqual([]);
    expect(cors?.filters).toMatchObject([{ type: "CORS", cors: { maxAge: 5 } }]);
  });

  test("an attempt count of 0 is kept", () => {
    const { objects } = read("HTTPRoute", "{rules: [{retry: {attempts: 0}}]}");
    expect((objects[0] as HttpRouteObject).spec.rules[0]?.retry).toEqual({ codes: [], attempts: 0 });
  });
});

describe("GRPCRoute", () => {
  test.each([
    ["{rules: [{matches: [{method: {}}]}]}", "rules[0].matches[0].method: is a mapping, expected a service, a method"],
    ["{rules: [{matches: [{method: {service: a-b}}]}]}", 'method.service: is "a-b", expected the full name'],
    ["{rules: [{matches: [{method: {method: a.b}}]}]}", 'method.method: is "a.b", expected the name of a gRPC method'],
    [
      "{rules: [{matches: [{method: {type: RegularExpression, service: '('}}]}]}",
      'method.service: is "(", expected a regular expression',
    ],
    ["{rules: [{filters: [{type: CORS, cors: {}}]}]}", 'filters[0].type: is "CORS", expected one of RequestHeader'],
  ])("%s is rejected", (spec, expected) => {
    expect(errors("GRPCRoute", spec)).toEqual([expect.stringContaining(expected)]);
  });
});

describe("TCPRoute and TLSRoute", () => {
  test.each([
    ["TCPRoute", "{rules: [{backendRefs: [{name: a, port: 70000}]}]}", "backendRefs[0].port: is 70000, expected 1 to"],
    ["TCPRoute", "{rules: [{backendRefs: [{kind: 1a, name: a}]}]}", 'backendRefs[0].kind: is "1a", expected a kind'],
    ["TLSRoute", "{hostnames: ['*']}", 'hostnames[0]: is "*", expected a domain name'],
  ])("%s %s is rejected", (kind, spec, expected) => {
    expect(errors(kind, spec)).toEqual([expect.stringContaining(expected)]);
  });

  test("a field of another kind is unknown", () => {
    expect(warnings("TCPRoute", "{hostnames: [a.com]}")).toEqual(["hostnames: is unknown and has no effect"]);
  });
});

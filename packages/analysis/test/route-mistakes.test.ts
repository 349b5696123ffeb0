import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const codes = ["MESH0014", "MESH0042", "MESH0043", "MESH0050", "IST0106", "IST0130", "IST0131", "IST0133"];
const to = [{ destination: { host: "cart" } }];

/** Returns the messages about routes without the object and the line. */
function found(...http: readonly object[]): readonly string[] {
  const text = object("VirtualService", "shop/cart", { spec: { hosts: ["cart"], http } });
  return messagesIn(text, codes).map((message) => message.replace(/ VirtualService shop\/cart \d+/, ""));
}

const matching = (match: object): object => ({ match: [match], route: to });

describe("a condition that no request satisfies", () => {
  const rows: readonly (readonly [object, string])[] = [
    [{ uri: { exact: "api" } }, 'uri.exact: is "api", which no path matches: paths begin with /, expected "/api"'],
    [{ uri: { prefix: "api/" } }, 'uri.prefix: is "api/", which no path matches: paths begin with /, expected "/api/"'],
    [
      { uri: { regex: "api/.*" } },
      'uri.regex: is "api/.*", which matches no whole path: paths begin with /, expected .* or / before it',
    ],
    [
      { uri: { regex: "\\.png$" } },
      'uri.regex: is "\\\\.png$", which matches no whole path: paths begin with /, expected .* or / before it',
    ],
    [
      { uri: { regex: "^/api" } },
      'uri.regex: is "^/api", which only matches a whole path, not a part of it, expected "^/api.*"',
    ],
    [
      { uri: { exact: "/a?x=1" } },
      'uri.exact: is "/a?x=1", which no path matches: it is compared without the query, expected queryParams',
    ],
    [
      { uri: { regex: "/a\\?x=.*" } },
      'uri.regex: is "/a\\\\?x=.*", which no path matches: it is compared without the query, expected queryParams',
    ],
    [
      { uri: { regex: "/a(\\?x=.*)+" } },
      'uri.regex: is "/a(\\\\?x=.*)+", which no path matches: it is compared without the query, expected queryParams',
    ],
    [
      { uri: { prefix: "/api/*" } },
      'uri.prefix: is "/api/*", whose * only matches an asterisk, expected prefix "/api/"',
    ],
    [{ uri: { exact: "/a b" } }, 'uri.exact: is "/a b", which no path matches: expected %20 or + for a space'],
    [{ method: { exact: "get" } }, 'method.exact: is "get", which no method matches, expected "GET"'],
    [{ method: { regex: "get|post" } }, 'method.regex: is "get|post", which no method matches, expected "GET|POST"'],
    [{ scheme: { exact: "HTTPS" } }, 'scheme.exact: is "HTTPS", which no scheme matches, expected http or https'],
    [
      { headers: { "x-user": { exact: "jason " } } },
      'headers["x-user"].exact: is "jason ", which no header matches: proxies remove spaces around values',
    ],
    [
      { headers: { "User-Agent": { regex: "Chrome" } } },
      'headers["User-Agent"].regex: is "Chrome", which only matches a user-agent that is nothing else: patterns match whole values, expected ".*Chrome.*"',
    ],
    [
      { headers: { "x-version": { regex: "^canary" } } },
      'headers["x-version"].regex: is "^canary", which only matches a whole value, not a part of it, expected "^canary.*"',
    ],
  ];

  it.each(rows)("%j", (match, message) => {
    expect(found(matching(match))).toEqual([`MESH0014: http[0].match[0].${message}`]);
  });

  const cookies: readonly (readonly [object, string, string])[] = [
    [{ regex: "user=jason" }, "a request without other cookies", "user=jason"],
    [{ regex: "^user=jason$" }, "a request without other cookies", "user=jason"],
    [{ regex: "user=(jason|tom)" }, "a request without other cookies", "user=(jason|tom)"],
    [{ regex: "user=jason.*" }, "a request whose first cookie it is", "user=jason"],
    [{ regex: ".*user=jason" }, "a request whose last cookie it is", "user=jason"],
    [{ exact: "user=jason" }, "a request without other cookies", "user=jason"],
    [{ prefix: "user=jason" }, "a request whose first cookie it is", "user=jason"],
  ];

  it.each(cookies)("a cookie %j", (cookie, condition, pattern) => {
    const [[kind, value] = ["", ""]] = Object.entries(cookie) as [string, string][];
    expect(found(matching({ headers: { cookie } }))).toEqual([
      `MESH0014: http[0].match[0].headers.cookie.${kind}: is ${JSON.stringify(value)}, which only matches ${condition}: the whole header is compared, expected regex ${JSON.stringify(`^(.*;\\s*)?(${pattern})(;.*)?$`)}`,
    ]);
  });

  it.each([
    { uri: { exact: "*" } },
    { uri: { prefix: "" } },
    { uri: { regex: "/api/v[12]" } },
    { uri: { regex: ".*\\.png" } },
    { uri: { regex: "^/api/.*" } },
    { uri: { regex: "^/api$" } },
    { uri: { regex: "(api|/v1)/.*" } },
    { uri: { regex: "/a?.*" } },
    { uri: { regex: "/a(\\?.*)?" } },
    { uri: { regex: "/a\\?*" } },
    { uri: { regex: "/(a|b\\?)" } },
    { uri: { regex: "/a|/b\\?" } },
    { uri: { regex: "/[^\\?]*" } },
    { uri: { regex: "\\x2Fapi" } },
    { uri: { regex: "\\x{2F}api" } },
    { uri: { regex: "\\057api" } },
    { uri: { regex: "^/api/\\p{Greek}" } },
    { uri: { regex: "\\Q/api|\\E.*" } },
    { uri: { prefix: "/api/v1" } },
    { uri: { prefix: "/*.js" } },
    { method: { exact: "GET" } },
    { method: { regex: "GET|POST" } },
    { scheme: { exact: "https" } },
    { headers: { cookie: { regex: "^(.*?;)?(user=jason)(;.*)?$" } } },
    { headers: { cookie: { regex: ".*user=jason.*" } } },
    { headers: { cookie: { regex: "(.*; )?user=jason(;.*)?" } } },
    { headers: { cookie: { regex: "[^;]*user=jason.*" } } },
    { headers: { "user-agent": { regex: ".*Chrome.*" } } },
    { headers: { "user-agent": { exact: "curl" } } },
    { headers: { "x-user": { regex: "jason" } } },
    { headers: { "x-user": { regex: "^jason\\x2F" } } },
    { headers: { "x-user": { regex: "^jason$" } } },
    { headers: { "x-user": { regex: "^jason(-.*)?" } } },
    { withoutHeaders: { "x-user": { regex: "*" } } },
  ])("is none of %j", (match) => {
    expect(found(matching(match))).toEqual([]);
  });
});

describe("a rewritten prefix", () => {
  const rewriting = (uri: string, prefix?: string): object => ({
    ...(prefix !== undefined && { match: [{ uri: { prefix } }] }),
    rewrite: { uri },
    route: to,
  });

  it.each([
    ["/api", "/", "//x of /api/x: only the prefix is replaced, expected also a match of prefix /api/ before"],
    ["/api", "/v1/", '/v1//x of /api/x: only the prefix is replaced, expected "/v1"'],
    ["/api/", "/v1", '/v1x of /api/x: only the prefix is replaced, expected "/v1/"'],
    ["/", "/v1", '/v1x of /x: only the prefix is replaced, expected "/v1/"'],
    [undefined, "/v1", '/v1x of /x: only the prefix is replaced, expected "/v1/"'],
  ])("%s by %s", (prefix, uri, rest) => {
    expect(found(rewriting(uri, prefix))).toEqual([
      `MESH0043: http[0].rewrite.uri: is ${JSON.stringify(uri)}, which makes ${rest}`,
    ]);
  });

  it("of a redirect", () => {
    const redirect = { match: [{ uri: { prefix: "/old" } }], redirect: { prefixRewrite: "/" } };
    expect(found(redirect)).toEqual([
      'MESH0043: http[0].redirect.prefixRewrite: is "/", which makes //x of /old/x: only the prefix is replaced, expected also a match of prefix /old/ before',
    ]);
  });

  it("keeps the slash", () => {
    expect(found(rewriting("/v1", "/api"))).toEqual([]);
    expect(found(rewriting("/", "/api/"))).toEqual([]);
    expect(found(rewriting("/", "/"))).toEqual([]);
    const both = {
      match: [{ uri: { prefix: "/api/" } }, { uri: { prefix: "/api" } }],
      rewrite: { uri: "/" },
      route: to,
    };
    expect(found(both).filter((message) => message.startsWith("MESH"))).toEqual([]);
    expect(found({ match: [{ uri: { exact: "/api" } }], rewrite: { uri: "/" }, route: to })).toEqual([]);
    expect(found({ rewrite: { authority: "a.example" }, route: to })).toEqual([]);
  });
});

describe("a setting that changes nothing", () => {
  const rows: readonly (readonly [object, string])[] = [
    [
      { timeout: "1s", retries: { attempts: 3, perTryTimeout: "2s" } },
      "retries.perTryTimeout: is 2s, which has no effect: the timeout of the whole request, 1s, ends it before a try that takes too long is repeated; expected less than timeout",
    ],
    [
      { timeout: "1s", retries: { attempts: 3, perTryTimeout: "1s" } },
      "retries.perTryTimeout: is 1s, which has no effect: the timeout of the whole request, 1s, ends it before a try that takes too long is repeated; expected less than timeout",
    ],
    [
      { retries: { attempts: 0, backoff: "1s" } },
      "retries.backoff: has no effect: attempts is 0, which disables retries",
    ],
    [
      { fault: { abort: { httpStatus: 500 } } },
      "fault.abort: has no effect: without percentage no request is aborted, expected percentage.value up to 100",
    ],
    [
      { fault: { delay: { fixedDelay: "5s" } } },
      "fault.delay: has no effect: without percentage no request is delayed, expected percentage.value up to 100",
    ],
    [
      { fault: { abort: { httpStatus: 500, percentage: { value: 0 } } } },
      "fault.abort.percentage: is 0, so that no request is aborted, expected percentage.value up to 100, or no abort",
    ],
    [
      { fault: { delay: { fixedDelay: "5s", percentage: {} } } },
      "fault.delay.percentage: is 0, so that no request is delayed, expected percentage.value up to 100, or no delay",
    ],
    [
      { fault: { delay: { percentage: { value: 5 } } } },
      "fault.delay: has no effect: it has no duration, expected fixedDelay",
    ],
    [
      { mirror: { host: "test" }, mirrorPercentage: { value: 0 } },
      "mirrorPercentage: is 0, so that no request is mirrored, expected up to 100, or no mirror",
    ],
    [
      { mirrors: [{ destination: { host: "test" }, percentage: { value: 0 } }] },
      "mirrors[0].percentage: is 0, so that no request is mirrored, expected up to 100, or no mirror",
    ],
    [{ mirrorPercentage: { value: 5 } }, "mirrorPercentage: has no effect: there is no mirror, expected also mirror"],
  ];

  it.each(rows)("%j", (setting, message) => {
    expect(found({ ...setting, route: to })).toEqual([`MESH0042: http[0].${message}`]);
  });

  it("of a route that forwards nothing", () => {
    expect(found({ redirect: { authority: "b" }, timeout: "1s", mirror: { host: "test" } })).toEqual([
      "MESH0042: http[0].mirror: has no effect: the route has redirect, so that nothing is forwarded",
      "MESH0042: http[0].timeout: has no effect: the route has redirect, so that nothing is forwarded",
    ]);
    expect(found({ directResponse: { status: 200 }, retries: { attempts: 1 } })).toEqual([
      "MESH0042: http[0].retries: has no effect: the route has directResponse, so that nothing is forwarded",
    ]);
  });

  it.each([
    { timeout: "3s", retries: { attempts: 3, perTryTimeout: "1s" } },
    { retries: { attempts: 3, perTryTimeout: "1s" } },
    { retries: { attempts: 0 } },
    { fault: { abort: { httpStatus: 500, percentage: { value: 0.1 } } } },
    { fault: { delay: { fixedDelay: "5s", percent: 10 } } },
    { mirror: { host: "test" } },
    { mirror: { host: "test" }, mirrorPercentage: { value: 10 } },
  ])("is none of %j", (setting) => {
    expect(found({ ...setting, route: to })).toEqual([]);
  });
});

describe("weights", () => {
  const weights = (...of: readonly (number | undefined)[]): object => ({
    route: of.map((weight, i) => ({ destination: { host: `v${i}` }, ...(weight !== undefined && { weight }) })),
  });

  it("that are missing get no traffic", () => {
    const missing = (i: number): string =>
      `MESH0042: http[0].route[${i}]: has no weight and gets no traffic, expected a weight, since others have one`;
    expect(found(weights(90, undefined))).toEqual([missing(1)]);
    expect(found(weights(undefined, 50, undefined))).toEqual([missing(0), missing(2)]);
    expect(found(weights(100, 0))).toEqual([]);
    expect(found(weights(50, 40))).toEqual([]);
    expect(found(weights(undefined))).toEqual([]);
  });

  it("of the only destination have no effect", () => {
    expect(found(weights(0))).toEqual([
      "MESH0042: http[0].route[0].weight: is 0, but the only destination gets all traffic, expected another destination, or a fault",
    ]);
  });

  it("of TCP and TLS routes are checked, too", () => {
    const { route } = weights(90, undefined) as { route: readonly object[] };
    const text = object("VirtualService", "shop/cart", {
      spec: { hosts: ["cart"], tcp: [{ route }], tls: [{ match: [{ sniHosts: ["cart"] }], route }] },
    });
    expect(messagesIn(text, ["MESH0042"]).map((message) => message.split(": ")[1])).toEqual([
      "tcp[0].route[1]",
      "tls[0].route[1]",
    ]);
  });
});

describe("a route behind one that takes all its requests", () => {
  const never = "IST0130: http[1]: is never reached: #0 takes every request before it";
  const exact = matching({ uri: { exact: "/a/b" } });

  it.each([{ uri: { prefix: "/" } }, { uri: { regex: ".*" } }, { uri: { regex: "^/.*$" } }, { name: "all" }])(
    "%j",
    (first) => {
      expect(found(matching(first), exact)).toEqual([never]);
      expect(found(matching(first), matching({ headers: { "x-user": { exact: "jason" } } }))).toEqual([never]);
      expect(found(matching(first), { route: to })).toEqual([never]);
    },
  );

  it("has an exact path behind a prefix", () => {
    expect(found(matching({ uri: { prefix: "/a" } }), exact)).toEqual([
      "IST0131: http[1].match[0]: has no effect: the prefix /a of #0 takes its requests before it",
    ]);
  });

  it("is none behind a match with other conditions", () => {
    expect(found(matching({ uri: { prefix: "/" }, headers: { "x-user": { exact: "jason" } } }), exact)).toEqual([]);
    expect(found(matching({ uri: { prefix: "/" }, sourceLabels: { app: "web" } }), exact)).toEqual([]);
    expect(found(matching({ uri: { prefix: "/" }, gateways: ["mesh"] }), exact)).toEqual([]);
    expect(found(matching({ uri: { prefix: "/" }, port: 80 }), exact)).toEqual([]);
    expect(found(matching({ uri: { prefix: "/b" } }), exact)).toEqual([]);
    expect(found(exact, matching({ uri: { prefix: "/a" } }), matching({ uri: { prefix: "/" } }))).toEqual([]);
    expect(found(matching({ uri: { regex: "/a.*" } }), exact)).toEqual([]);
  });
});

describe("a CORS policy", () => {
  const rows: readonly (readonly [object, string])[] = [
    [
      { allowMethods: ["GET"] },
      "corsPolicy: has no effect: without allowOrigins no website is allowed, expected at least one",
    ],
    [
      { allowOrigins: [{ exact: "*" }], allowCredentials: true },
      "corsPolicy.allowOrigins[0]: allows every website to act with the credentials of its visitors, because allowCredentials is true: proxies answer with the origin of the request, not with *; expected the trusted origins",
    ],
    [
      { allowOrigins: [{ regex: ".*" }], allowCredentials: true },
      "corsPolicy.allowOrigins[0]: allows every website to act with the credentials of its visitors, because allowCredentials is true: proxies answer with the origin of the request, not with *; expected the trusted origins",
    ],
    [
      { allowOrigins: [{ exact: "a.example" }] },
      'corsPolicy.allowOrigins[0].exact: is "a.example", which no browser sends as Origin, expected "https://a.example"',
    ],
    [
      { allowOrigins: [{ exact: "https://a.example/" }] },
      'corsPolicy.allowOrigins[0].exact: is "https://a.example/", which no browser sends as Origin, expected "https://a.example"',
    ],
    [
      { allowOrigins: [{ exact: "https://A.example" }] },
      'corsPolicy.allowOrigins[0].exact: is "https://A.example", which no browser sends as Origin, expected "https://a.example"',
    ],
    [
      { allowOrigins: [{ exact: "https://a.example:443" }] },
      'corsPolicy.allowOrigins[0].exact: is "https://a.example:443", which no browser sends as Origin, expected "https://a.example": browsers omit the default port',
    ],
    [
      { allowOrigins: [{ exact: "https://*.a.example" }] },
      'corsPolicy.allowOrigins[0].exact: is "https://*.a.example", which no browser sends as Origin, expected a regex such as "https://[^.]+\\\\.a\\\\.example"',
    ],
    [
      { allowOrigins: [{ regex: "a\\.example" }] },
      'corsPolicy.allowOrigins[0].regex: is "a\\\\.example", which no browser sends as Origin, expected a scheme: "https://a\\\\.example"',
    ],
    [
      { allowOrigins: [{ regex: "https://a.example" }] },
      'corsPolicy.allowOrigins[0].regex: is "https://a.example", in which . stands for any character, so that other domains are allowed, too, expected \\.',
    ],
    [
      { allowOrigins: [{ prefix: "https://a.example" }] },
      'corsPolicy.allowOrigins[0].prefix: is "https://a.example", which also allows https://a.example.example.net, expected exact, or a regex such as "https://a\\\\.example(:[0-9]+)?"',
    ],
    [
      { allowOrigins: [{ exact: "https://a.example" }], allowCredentials: true, exposeHeaders: ["*"] },
      "corsPolicy.exposeHeaders: has *, which browsers take literally because allowCredentials is true, so that nothing more is allowed, expected the names",
    ],
    [
      { allowOrigins: [{ exact: "https://a.example" }], allowCredentials: true, allowHeaders: ["x-a", "*"] },
      "corsPolicy.allowHeaders: has *, which browsers take literally because allowCredentials is true, so that nothing more is allowed, expected only *, or the names",
    ],
  ];

  it.each(rows)("%j", (corsPolicy, message) => {
    expect(found({ corsPolicy, route: to })).toEqual([`MESH0050: http[0].${message}`]);
  });

  it.each([
    { allowOrigins: [{ exact: "*" }] },
    {
      allowOrigins: [{ exact: "https://a.example" }],
      allowCredentials: true,
      allowHeaders: ["*"],
      allowMethods: ["*"],
    },
    { allowOrigins: [{ exact: "http://localhost:3000" }] },
    { allowOrigins: [{ exact: "null" }] },
    { allowOrigins: [{ prefix: "http://localhost:" }] },
    { allowOrigins: [{ regex: "https://[^.]+\\.example\\.com" }], allowCredentials: true },
    { allowOrigins: [{ regex: ".*\\.example\\.com" }] },
    { allowOrigins: [{ regex: "https://.*" }] },
    { allowOrigin: ["https://a.example"] },
  ])("is right: %j", (corsPolicy) => {
    expect(found({ corsPolicy, route: to })).toEqual([]);
  });
});

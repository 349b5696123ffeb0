import fc from "fast-check";

export const from = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
export const list = <T>(item: fc.Arbitrary<T>, maxLength = 2, minLength = 1): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength, maxLength });
/** A message with the required fields and up to two others, so that most values of an object are accepted. */
export const some = (
  fields: Record<string, fc.Arbitrary<unknown>>,
  requiredKeys: readonly string[] = [],
): fc.Arbitrary<Record<string, unknown>> => {
  const optional = Object.keys(fields).filter((key) => !requiredKeys.includes(key));
  return fc
    .subarray(optional, { minLength: Math.min(1, optional.length), maxLength: Math.min(3, optional.length) })
    .chain((keys) =>
      fc.record(Object.fromEntries([...requiredKeys, ...keys].map((key) => [key, fields[key] ?? fc.constant(null)]))),
    );
};

export const namespaces = from("shop", "other", "istio-system");
export const names = from("a", "b", "constructor", "a.b");
export const hosts = from(
  "cart.shop.svc.cluster.local",
  "CART.shop.svc.cluster.local",
  "cart.shop.svc.cluster.local.",
  "cart.shop.svc",
  "cart",
  "cart.shop",
  "constructor",
  "*.example.com",
  "*.EXAMPLE.com",
  "a.example.com",
  "A.example.com",
  "*a.example.com",
  "*-a.example.com",
  "*.com",
  "*.shop.svc.cluster.local",
  "192.0.2.1",
  "10.96.0.1",
  "2001:db8::1",
  "xn--bcher-kva.example",
  "outbound_.80_._.cart.shop.svc.cluster.local",
  `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.example.com`,
);
/** Weighted towards values that are fine everywhere, so that objects with one hostile value are accepted. */
export const texts = fc.oneof(
  from("x", "/x", "x-1"),
  from(
    "x",
    "",
    "/",
    "a b",
    "é",
    "a\nb",
    "a\0b",
    "a\r\nb: c",
    "%",
    "%REQ(a)%",
    "%BAD%",
    "%START_TIME(%s)%",
    "%DOWNSTREAM_PEER_SUBJECT%",
    "%REQ(:path)%%",
    "\\1",
    "\\9",
    "x".repeat(20_000),
    ":path",
    "host",
    "/a?b#c",
    "\ud800",
    "*",
    "{",
    "{*}",
    "**",
  ),
);
export const headerNames = fc.oneof(
  from("x-a", "x-b"),
  from(
    "x-a",
    "X-A",
    "x a",
    ":path",
    ":authority",
    "host",
    "",
    "x\nb",
    "é",
    "content-length",
    "x:y",
    "@request.auth.claims.a",
    "@request.auth.claims[a][b]",
    "@request.auth.claims[]",
    "cookie",
  ),
);
export const numbers = from(0, 1, 2, 80, 100, 101, 65_535, 65_536, 2_147_483_647, 4_294_967_295, -1);
export const ports = from(0, 80, 443, 8080, 15_001, 15_006, 15_008, 65_535);
export const durations = from(
  "1ms",
  "0s",
  "1s",
  "90s",
  "1h",
  "0.0015s",
  "1000000000s",
  "315576000000s",
  "9223372036s",
  "-1s",
  "2562047h",
);
export const percents = from(0, 0.00001, 0.5, 1, 50, 99.99999, 100, 100.1);
export const regexes = from(
  "a",
  ".*",
  "\\pL{1,50}",
  "[",
  "(a{1,1000}){1,10}",
  "é",
  "\\x{4e00}",
  "(?P<a>b)",
  "^$",
  "*",
  "a".repeat(1024),
  "(?i)[k-ſ]",
  "\\C",
  "",
);
export const stringMatch = fc.oneof(
  some({ exact: texts }),
  some({ prefix: texts }),
  some({ regex: regexes }),
  fc.constant({}),
);
export const labels = fc.dictionary(from("app", "version", "constructor"), from("cart", "v1", ""), { maxKeys: 2 });
export const cidrs = from(
  "10.0.0.0/8",
  "10.1.2.3/8",
  "0.0.0.0/0",
  "::/0",
  "2001:db8::1",
  "192.0.2.1",
  "192.0.2.1/32",
  "fe80::1%eth0",
  "::ffff:10.0.0.1",
  "::ffff:10.0.0.0/104",
  "10.96.0.1",
);
export const addresses = from(
  "192.0.2.1",
  "192.0.2.1/32",
  "10.0.0.0/8",
  "10.1.0.0/8",
  "2001:db8::/32",
  "fe80::1%eth0",
  "::",
  "0.0.0.0",
  "0.0.0.0/0",
  "10.96.0.1",
  "127.0.0.1",
  "::ffff:10.0.0.1",
);
export const protocols = from(
  "HTTP",
  "HTTP2",
  "GRPC",
  "HTTPS",
  "TLS",
  "TCP",
  "MONGO",
  "REDIS",
  "MYSQL",
  "UDP",
  "GRPC-WEB",
  "",
);
export const subset = from("v1", "V1", "constructor", "toString", "v1-a");

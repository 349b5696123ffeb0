import fc from "fast-check";
import type { Callers } from "./callers.js";

/** A random situation: policies of one workload, and a request to it. */
export interface Case {
  readonly policies: readonly RandomPolicy[];
  readonly request: RandomRequest;
}

export interface RandomPolicy {
  /** True: in the root namespace. */
  readonly root: boolean;
  readonly dryRun: boolean;
  readonly spec: object;
}

export interface RandomRequest {
  /** Index of the caller's identity; undefined: plaintext. */
  readonly identity: number | undefined;
  /** Index of the caller's address. */
  readonly source: number;
  readonly sni: string;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Index of the token; undefined: none. */
  readonly token: number | undefined;
}

const some = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const list = (values: readonly string[], max = 3): fc.Arbitrary<string[]> =>
  fc.uniqueArray(some(...values), { minLength: 1, maxLength: max });

export const serverNames = ["web.shop", "outbound_.80_._.web.shop.svc.cluster.local", "db.shop"];
const issuers = ["https://one.example.com", "two"];

/** Path segments with which callers try to evade policies. */
const tricks = [
  "a",
  "b",
  "admin",
  "A",
  "",
  ".",
  "..",
  "%2e",
  "%2E%2e",
  "..;",
  "%2f",
  "a%2Fb",
  "%5c",
  "a%41",
  "%7e",
  "c",
];
export const trickyPath: fc.Arbitrary<string> = fc
  .tuple(fc.array(some(...tricks), { maxLength: 5 }), some("", "", "/", "?x=/admin", "?", ";v=1", "#f", "\\b"))
  .map(([segments, end]) => `/${segments.join("/")}${end}`);
const plainPath = some("/", "/a", "/a/b", "/admin", "/admin/x", "/a/b/c", "/b");
const pathValues = [
  "/a",
  "/a/*",
  "*/b",
  "/",
  "/admin*",
  "/a/{*}/c",
  "/a/{**}",
  "/{*}/b",
  "/a/{*}",
  "*",
  "/a%2Fb",
  "//a",
];

function sources(callers: Callers): fc.Arbitrary<object> {
  const blocks = [...callers.addresses.slice(0, 3), `${callers.addresses[0]}/30`, "127.0.0.0/8", "10.0.0.0/8", "::/0"];
  const remote = [...blocks, "9.9.9.9", "9.9.0.0/16", "2001:db8::/32"];
  const namespaces = ["shop", "admin", "sh*", "*op", "*", "s*p"];
  const principals = [
    "*",
    "cluster.local/ns/shop/sa/web",
    "td1/ns/shop/sa/web",
    "old-td/ns/shop/sa/web",
    "other/ns/shop/sa/web",
    "cluster.local/ns/shop/*",
    "*/sa/web",
    "*/ns/admin/sa/root",
    "td1/ns/admin/sa/root",
    "*",
  ];
  const requestPrincipals = [
    "*",
    "two/ann",
    "https://one.example.com/*",
    "*/ann",
    "https://one.example.com/bob",
    "two*",
  ];
  const common = {
    requestPrincipals: list(requestPrincipals),
    notRequestPrincipals: list(requestPrincipals),
    ipBlocks: list(blocks),
    notIpBlocks: list(blocks),
    remoteIpBlocks: list(remote),
    notRemoteIpBlocks: list(remote),
  };
  const accounts = ["web", "shop/web", "admin/root", "shop/web2"];
  return fc.oneof(
    { weight: 4, arbitrary: subset({ ...common, principals: list(principals), namespaces: list(namespaces) }) },
    {
      weight: 2,
      arbitrary: subset({
        ...common,
        notPrincipals: list(principals),
        notNamespaces: list(namespaces),
        trustDomains: list(["td1", "old-td", "other", "*", "o*", "*d1"]),
        notTrustDomains: list(["td1", "old-td", "other", "t*"]),
      }),
    },
    { weight: 2, arbitrary: subset({ serviceAccounts: list(accounts) }) },
    { weight: 1, arbitrary: subset({ notServiceAccounts: list(accounts), ipBlocks: list(blocks) }) },
  );
}

/** One or two of the fields. */
function subset(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> {
  return fc
    .uniqueArray(some(...Object.keys(fields)), { minLength: 1, maxLength: 2 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, fields[name]!]))));
}

const operations = (() => {
  const hosts = ["web.shop", "*.shop", "web.*", "WEB.shop", "*", "web.shop:8080"];
  const methods = ["GET", "POST", "G*", "*T", "*"];
  const ports = ["8080", "9090", "80"];
  return subset({
    hosts: list(hosts),
    notHosts: list(hosts),
    methods: list(methods),
    notMethods: list(methods),
    paths: list(pathValues),
    notPaths: list(pathValues),
    ports: list(ports),
    notPorts: list(ports),
  });
})();

function conditions(callers: Callers): fc.Arbitrary<object> {
  const blocks = [callers.addresses[0]!, "127.0.0.0/8", "9.9.9.9"];
  const values: Readonly<Record<string, readonly string[]>> = {
    "request.headers[X-Role]": ["admin", "adm*", "*in", "*", "a,b"],
    "request.headers[cookie]": ["a=1; b=2", "a=1*", "*"],
    "request.headers[host]": ["web.shop", "*"],
    "request.headers[:path]": ["/a", "/a*"],
    "source.ip": blocks,
    "remote.ip": blocks,
    "source.namespace": ["shop", "*min", "*"],
    "source.principal": ["cluster.local/ns/shop/sa/web", "*/sa/root", "*"],
    "source.serviceAccount": ["web", "admin/root"],
    "source.trustDomain": ["td1", "other", "*"],
    "request.auth.principal": ["two/ann", "*", "https://one.example.com/*"],
    "request.auth.audiences": ["aud-a", "aud*", "*"],
    "request.auth.presenter": ["client-1", "*"],
    "request.auth.claims[groups]": ["staff", "st*", "*"],
    "request.auth.claims[scope]": ["read", "write", "read write"],
    "request.auth.claims[nested][role]": ["boss", "*"],
    "request.auth.claims[level]": ["3", "*"],
    "destination.ip": ["127.0.0.0/8", "10.0.0.0/8"],
    "destination.port": ["8080", "9090"],
    "connection.sni": ["web.shop", "*.shop", "outbound_*", "*"],
    "experimental.envoy.filters.http.sample[role]": ["admin", "*", "[admin]"],
  };
  return some(...Object.keys(values)).chain((key) =>
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ key: fc.constant(key), values: list(values[key]!) }) },
      { weight: 2, arbitrary: fc.record({ key: fc.constant(key), notValues: list(values[key]!) }) },
    ),
  );
}

function rules(callers: Callers): fc.Arbitrary<object> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant({}) },
    {
      weight: 9,
      arbitrary: fc.record(
        {
          from: fc.array(fc.record({ source: sources(callers) }), { minLength: 1, maxLength: 2 }),
          to: fc.array(fc.record({ operation: operations }), { minLength: 1, maxLength: 2 }),
          when: fc.array(conditions(callers), { minLength: 1, maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
    },
  );
}

/** Rules that CUSTOM policies may have: without identities. */
const customRule = fc.record(
  {
    to: fc.array(fc.record({ operation: operations }), { minLength: 1, maxLength: 2 }),
    when: fc.constantFrom(
      [{ key: "request.headers[x-role]", values: ["admin"] }],
      [{ key: "remote.ip", notValues: ["9.9.9.9"] }],
    ),
  },
  { requiredKeys: [] },
);

function policies(callers: Callers): fc.Arbitrary<RandomPolicy> {
  const rulesOf = fc.array(rules(callers), { minLength: 1, maxLength: 3 });
  const spec = fc.oneof(
    { weight: 6, arbitrary: fc.record({ action: fc.constant("ALLOW"), rules: rulesOf }) },
    { weight: 5, arbitrary: fc.record({ action: fc.constant("DENY"), rules: rulesOf }) },
    { weight: 1, arbitrary: fc.record({ action: fc.constant("AUDIT"), rules: rulesOf }) },
    { weight: 1, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.record({
        action: fc.constant("CUSTOM"),
        provider: some({ name: "sample-ext" }, { name: "sample-ext" }, { name: "absent" }),
        rules: fc.array(customRule, { minLength: 1, maxLength: 2 }),
      }),
    },
  );
  return fc
    .record({ root: fc.integer({ min: 0, max: 5 }), dry: fc.integer({ min: 0, max: 9 }), spec })
    .map(({ root, dry, spec: of }) => ({
      root: root === 0,
      dryRun: dry === 0 && (of as { action?: string }).action !== "CUSTOM",
      spec: of,
    }));
}

function requests(callers: Callers): fc.Arbitrary<RandomRequest> {
  const header = fc.oneof(
    some<readonly [string, string]>(
      ["x-role", "admin"],
      ["X-Role", "a"],
      ["x-role", "b"],
      ["x-role", ""],
      ["cookie", "a=1"],
      ["cookie", "b=2"],
      ["x-forwarded-for", "9.9.9.9"],
      ["x-forwarded-for", "1.2.3.4, 9.9.9.9"],
      ["x-forwarded-for", "9.9.9.9, 2001:db8::1"],
      ["x-forwarded-for", "unknown"],
      ["x-sample-role", "admin"],
    ),
  );
  return fc.record({
    identity: fc.option(fc.nat(callers.identities.length - 1), { nil: undefined, freq: 4 }),
    source: fc.nat(callers.addresses.length - 1),
    sni: some(...serverNames),
    method: some("GET", "GET", "POST", "PUT"),
    path: fc.oneof({ weight: 3, arbitrary: plainPath }, { weight: 2, arbitrary: trickyPath }),
    host: some("web.shop", "api.shop", "Web.Shop", "web.shop:8080", "x"),
    headers: fc.array(header, { maxLength: 3 }),
    token: fc.option(fc.nat(callers.tokens.length - 1), { nil: undefined, freq: 2 }),
  });
}

/** Random cases for these callers. `issuers` are those of the tokens. */
export function cases(callers: Callers): fc.Arbitrary<Case> {
  return fc.record({
    policies: fc.array(policies(callers), { minLength: 1, maxLength: 3 }),
    request: requests(callers),
  });
}

export { issuers };

import type { JsonValue } from "@bufbuild/protobuf";
import { patchResults } from "@istiod/xds-generators";
import fc from "fast-check";
import { expect, it } from "vitest";
import { istioYaml, podYaml, serviceYaml } from "../mesh-yaml.js";
import { TestMesh, type TestProxy } from "../mesh.js";
import { envoyFilter } from "./envoy-filter-yaml.js";
import { randomPatch } from "./random-patches.js";

const types = {
  clusters: "envoy.config.cluster.v3.Cluster",
  listeners: "envoy.config.listener.v3.Listener",
  routes: "envoy.config.route.v3.RouteConfiguration",
  extensions: "envoy.config.core.v3.TypedExtensionConfig",
} as const;
type Kind = keyof typeof types;

/** The resources that patches of a kind may change. Inbound listeners contain their routes. */
const affected: Readonly<Record<string, readonly Kind[]>> = {
  CLUSTER: ["clusters"],
  LISTENER: ["listeners"],
  LISTENER_FILTER: ["listeners"],
  FILTER_CHAIN: ["listeners"],
  NETWORK_FILTER: ["listeners"],
  HTTP_FILTER: ["listeners"],
  ROUTE_CONFIGURATION: ["routes", "listeners"],
  VIRTUAL_HOST: ["routes", "listeners"],
  HTTP_ROUTE: ["routes", "listeners"],
  EXTENSION_CONFIG: ["extensions"],
  BOOTSTRAP: [],
  INVALID: [],
};

const anyOf = (name: string): string => `type.googleapis.com/${name}`;
const typeUrls = [
  anyOf("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"),
  anyOf("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
  anyOf("envoy.extensions.filters.http.lua.v3.Lua"),
  anyOf("google.protobuf.Any"),
  anyOf("google.protobuf.Struct"),
  anyOf("x.Unknown"),
  "a/",
  "",
];
const names = ["name", "typed_config", "filters", "domains", "route", "routes", "virtual_hosts", "metadata", "match"];
const keys = [...names, "http_filters", "load_assignment", "transport_socket", "__proto__", "constructor", "value"];

const { value: json } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 8, depthSize: "small" },
    fc.constantFrom<JsonValue>(
      null,
      true,
      -1,
      1e300,
      "",
      "-1s",
      "\ud800",
      "x".repeat(500),
      "NaN",
      "envoy.filters.http.router",
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie("value"), { maxKeys: 5 }),
    fc
      .tuple(fc.constantFrom(...typeUrls), tie("value"))
      .map(([url, inner]) => ({ "@type": url, value: inner, name: inner })),
  ),
}));
/** A packed message within packed messages. */
const deep = fc
  .tuple(fc.constantFrom(...typeUrls), fc.integer({ min: 1, max: 100 }))
  .map(([url, depth]) => nested({ "@type": url }, depth));
const list = fc.tuple(fc.constantFrom(...keys), json, fc.integer({ min: 1, max: 300 })).map(([key, item, length]) => ({
  [key]: Array.from({ length }, () => item),
}));
const value = fc.oneof(
  fc.dictionary(fc.constantFrom(...keys), json, { maxKeys: 5 }),
  deep.map((config) => ({ name: "deep", typed_config: config })),
  list,
);
const pattern = fc.constantFrom("(a+)+$", "[", "a{1000}{1000}", ".*", "x".repeat(2000));

interface Hostile {
  readonly applyTo: string;
  readonly match: object;
  readonly patch: object;
}

/** A value in one of some cases, else undefined. */
function oneIn<T>(cases: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 1, arbitrary }, { weight: cases - 1, arbitrary: fc.constant(undefined) });
}

/** A patch with a match of its kind and any value, operation or pattern. */
const hostilePatch: fc.Arbitrary<Hostile> = fc
  .record({
    valid: randomPatch as fc.Arbitrary<Hostile>,
    value: oneIn(2, value),
    proxyVersion: oneIn(10, pattern),
    applyTo: oneIn(15, fc.constantFrom("BOOTSTRAP", "INVALID")),
  })
  .map(({ valid, value: other, proxyVersion, applyTo }) => ({
    applyTo: applyTo ?? valid.applyTo,
    match: { ...valid.match, context: "ANY", ...(proxyVersion !== undefined && { proxy: { proxyVersion } }) },
    patch: { ...valid.patch, ...(other !== undefined && { value: other }) },
  }));

function nested(inner: JsonValue, depth: number): JsonValue {
  return depth === 0 ? inner : { "@type": anyOf("google.protobuf.Any"), value: nested(inner, depth - 1) };
}

const versions = (proxy: TestProxy, kind: Kind): readonly string[] =>
  [...proxy.set(types[kind])].map(({ name, version }) => `${name} ${version}`);

function rejectionOf(apply: () => void): string | undefined {
  try {
    apply();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const cases = Number(process.env["HOSTILE_FILTER_CASES"] ?? 60);
const seed = Number(process.env["HOSTILE_FILTER_SEED"] ?? 1);

it("hostile EnvoyFilters are rejected or applied alone", { timeout: 60_000 + cases * 500 }, () => {
  const mark = { applyTo: "CLUSTER", patch: { operation: "ADD", value: { name: "mark" } } };
  const selector = { workloadSelector: { labels: { app: "cart" } } };
  const mesh = new TestMesh(
    serviceYaml("cart", { ports: ["http:80:8080", "tcp:90"] }) +
      podYaml("cart", "10.1.0.1") +
      istioYaml("VirtualService", "cart", {
        hosts: ["cart.shop.svc.cluster.local"],
        http: [{ name: "default", route: [{ destination: { host: "cart.shop.svc.cluster.local" } }] }],
      }) +
      envoyFilter("mark", [mark], { ...selector, priority: 100 }),
  );
  const cart = mesh.proxy({ ip: "10.1.0.1", name: "cart-10-1-0-1", labels: { app: "cart" } });
  const other = mesh.proxy({ ip: "10.1.0.2", name: "other", labels: { app: "other" } });
  const kinds = Object.keys(types) as Kind[];
  const before = kinds.map((kind) => versions(cart, kind));
  const ofOther = kinds.map((kind) => other.set(types[kind]));
  let [applied, skipped, rejected] = [0, 0, 0];
  fc.assert(
    fc.property(hostilePatch, (hostile) => {
      const yaml = envoyFilter("hostile", [mark, hostile], selector);
      const rejection = rejectionOf(() => mesh.apply(yaml));
      if (rejection !== undefined) {
        rejected++;
        // A value that is too deep for protobuf's JSON is no spec at all; the size of values is bounded for all patches.
        expect(rejection).toMatch(
          /EnvoyFilter shop\/hostile: (configPatches(\[1\]|: multiplies to)|spec: .*recursion depth)/,
        );
        expect(kinds.map((kind) => versions(cart, kind))).toEqual(before);
        return;
      }
      const after = kinds.map((kind) => versions(cart, kind));
      for (const [at, kind] of kinds.entries()) {
        expect(other.set(types[kind])).toBe(ofOther[at]);
        if (!affected[hostile.applyTo]?.includes(kind)) expect(after[at]).toEqual(before[at]);
      }
      const results = cart.view.call(patchResults);
      const own = results.filter(({ filter, index }) => filter === "shop/hostile" && index === 1);
      if (own.some(({ failures }) => failures.length > 0)) skipped++;
      else if (own.some(({ resources }) => resources > 0)) applied++;
      // One that matches nothing changes nothing. One that fails at a place may be applied at another.
      if (own.every(({ resources, failures }) => resources + failures.length === 0)) expect(after).toEqual(before);
      expect(
        results
          .filter(({ filter }) => filter === "shop/mark")
          .map(({ index, resources, failures }) => [index, resources, failures]),
      ).toEqual([[0, 1, []]]);
      mesh.remove(yaml);
      expect(kinds.map((kind) => versions(cart, kind))).toEqual(before);
    }),
    { numRuns: cases, seed },
  );
  expect(rejected).toBeGreaterThan(0);
  expect(applied).toBeGreaterThan(0);
  if (cases >= 1000) expect(skipped).toBeGreaterThan(0);
});

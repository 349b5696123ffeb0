import fc from "fast-check";
import { expect, it } from "vitest";
import { destinationRule, istioYaml, podYaml, serviceYaml } from "../mesh-yaml.js";
import { type ProxyOptions, TestMesh } from "../mesh.js";
import { envoyFilter } from "./envoy-filter-yaml.js";
import { randomPatch } from "./random-patches.js";

const types = [
  "envoy.config.cluster.v3.Cluster",
  "envoy.config.listener.v3.Listener",
  "envoy.config.route.v3.RouteConfiguration",
  "envoy.config.core.v3.TypedExtensionConfig",
];
const proxies: readonly ProxyOptions[] = [
  { ip: "10.1.0.1", name: "cart-10-1-0-1", labels: { app: "cart" } },
  { namespace: "payments", ip: "10.1.0.9", name: "other", extensions: ["envoy.filters.http.router"] },
  { type: "router", namespace: "istio-system", name: "ingress", ip: "10.1.0.8", labels: { istio: "ingress" } },
];
const host = "cart.shop.svc.cluster.local";
const mesh =
  serviceYaml("cart", { ports: ["http:80:8080", "tcp:90"] }) +
  podYaml("cart", "10.1.0.1") +
  istioYaml("Gateway", "gate", {
    selector: { istio: "ingress" },
    servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  }) +
  istioYaml("VirtualService", "cart", {
    hosts: ["cart.example.com"],
    gateways: ["gate"],
    http: [{ name: "default", route: [{ destination: { host } }] }],
  });

const filter = fc
  .record({
    name: fc.constantFrom("a", "b", "c"),
    namespace: fc.constantFrom("shop", "payments", "istio-system"),
    patches: fc.array(randomPatch, { minLength: 1, maxLength: 4 }),
    priority: fc.constantFrom(0, 0, 10),
    selects: fc.boolean(),
  })
  .map(({ name, namespace, patches, priority, selects }) =>
    envoyFilter(name, patches, {
      namespace,
      priority,
      ...(selects && { workloadSelector: { labels: { app: "cart" } } }),
    }),
  );
const other = fc.constantFrom(
  serviceYaml("more", { ip: "10.96.0.7" }),
  destinationRule(host, { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
);
const edit = fc.oneof(
  { weight: 4, arbitrary: filter.map((yaml) => ({ apply: yaml })) },
  { weight: 1, arbitrary: filter.map((yaml) => ({ remove: yaml })) },
  { weight: 1, arbitrary: other.map((yaml) => ({ apply: yaml })) },
  { weight: 1, arbitrary: other.map((yaml) => ({ remove: yaml })) },
);

function edited(to: TestMesh, change: { readonly apply: string } | { readonly remove: string }): void {
  if ("apply" in change) to.apply(change.apply);
  else to.remove(change.remove);
}

function state(of: TestMesh): readonly (readonly string[])[] {
  return proxies.flatMap((options) => {
    const proxy = of.proxy(options);
    return types.map((type) => [...proxy.set(type)].map(({ name, version }) => `${name} ${version}`));
  });
}

const runs = Number(process.env["ENVOY_FILTER_CASES"] ?? 10);
const seed = process.env["ENVOY_FILTER_SEED"];

it(
  "patched resources after random edits equal those of a mesh built from scratch",
  { timeout: 120_000 + runs * 500 },
  () => {
    fc.assert(
      fc.property(fc.array(edit, { minLength: 2, maxLength: 6 }), (edits) => {
        const incremental = new TestMesh(mesh);
        state(incremental);
        edits.forEach((change, i) => {
          edited(incremental, change);
          const fresh = new TestMesh(mesh);
          for (const earlier of edits.slice(0, i + 1)) edited(fresh, earlier);
          expect(state(incremental)).toEqual(state(fresh));
        });
      }),
      { numRuns: runs, ...(seed !== undefined && { seed: Number(seed) }) },
    );
  },
);

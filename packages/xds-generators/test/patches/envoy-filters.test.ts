import { applicablePatches } from "@istiod/push-context";
import { difference } from "@istiod/resources";
import { patchResults } from "@istiod/xds-generators";
import { describe, expect, it } from "vitest";
import { serviceYaml } from "../mesh-yaml.js";
import { TestMesh, type TestProxy } from "../mesh.js";
import { envoyFilter, type FilterOptions } from "./envoy-filter-yaml.js";

const cds = "envoy.config.cluster.v3.Cluster";
const lds = "envoy.config.listener.v3.Listener";
const rds = "envoy.config.route.v3.RouteConfiguration";
const ecds = "envoy.config.core.v3.TypedExtensionConfig";
const types = [cds, lds, rds, ecds] as const;
const cart = "outbound|80||cart.shop.svc.cluster.local";
const list = "outbound|80||list.shop.svc.cluster.local";
const services = serviceYaml("cart") + serviceYaml("list", { ip: "10.96.0.2" });

const statName = (name: string, match: object = {}): object => ({
  applyTo: "CLUSTER",
  match,
  patch: { operation: "MERGE", value: { alt_stat_name: name } },
});
const ofService = (name: string): object => ({ cluster: { service: `${name}.shop.svc.cluster.local` } });
const lua = (name: string): object => ({
  name,
  typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua" },
});
const cors = (name: string): object => ({
  name,
  typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors" },
});
const httpFilter = (operation: string, subFilter: string, name = "lua", context = "SIDECAR_OUTBOUND"): object => ({
  applyTo: "HTTP_FILTER",
  match: {
    context,
    listener: {
      filterChain: {
        filter: { name: "envoy.filters.network.http_connection_manager", subFilter: { name: subFilter } },
      },
    },
  },
  patch: { operation, value: lua(name) },
});

/** The names of the HTTP filters in the first HTTP chain of a listener. */
function httpFilters(proxy: TestProxy, listener: string): readonly string[] {
  const { filterChains, defaultFilterChain } = proxy.json(lds, listener);
  for (const { filters } of [...(filterChains ?? []), ...(defaultFilterChain ? [defaultFilterChain] : [])])
    for (const { typedConfig } of filters)
      if (typedConfig.httpFilters !== undefined)
        return typedConfig.httpFilters.map(({ name }: { readonly name: string }) => name);
  return [];
}

describe("which proxies a patch applies to", () => {
  const patched = (yaml: string, options: Parameters<TestMesh["proxy"]>[0] = {}): boolean =>
    new TestMesh(services + yaml).proxy(options).cluster(cart)["altStatName"] === "x";

  it.each<[string, FilterOptions, Parameters<TestMesh["proxy"]>[0], boolean]>([
    ["its own namespace", {}, {}, true],
    ["another namespace", {}, { namespace: "other" }, false],
    ["the root namespace", { namespace: "istio-system" }, { namespace: "other" }, true],
    ["selected labels", { workloadSelector: { labels: { app: "web" } } }, { labels: { app: "web" } }, true],
    ["other labels", { workloadSelector: { labels: { app: "web" } } }, { labels: { app: "api" } }, false],
    [
      "a Gateway",
      { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "gate" }] },
      { type: "router", labels: { "gateway.networking.k8s.io/gateway-name": "gate" } },
      true,
    ],
    [
      "another Gateway",
      { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "gate" }] },
      { type: "router", labels: { "gateway.networking.k8s.io/gateway-name": "other" } },
      false,
    ],
  ])("%s", (_, options, proxy, expected) => {
    expect(patched(envoyFilter("a", [statName("x")], options), proxy)).toBe(expected);
  });

  it.each<[object, boolean]>([
    [{ proxyVersion: "^1\\.29.*" }, true],
    [{ proxyVersion: "29" }, true],
    [{ proxyVersion: "^1\\.2$" }, false],
    [{ metadata: { ISTIO_VERSION: "1.29.0" } }, true],
    [{ metadata: { ISTIO_VERSION: "1.29.0", OTHER: "x" } }, false],
  ])("a proxy that matches %j: %s", (proxy, expected) => {
    expect(patched(envoyFilter("a", [statName("x", { proxy })]))).toBe(expected);
  });

  it("none without a version matches a pattern, and a pattern that is too long matches none", () => {
    const pattern = (proxyVersion: string): string => envoyFilter("a", [statName("x", { proxy: { proxyVersion } })]);
    expect(patched(pattern(".*"), { metadata: { ISTIO_VERSION: "" } })).toBe(false);
    expect(patched(pattern(`${"a?".repeat(520)}.*`))).toBe(false);
  });
});

it("patches are applied by priority, root namespace, age and name", () => {
  const aged = (name: string, created: number, options: FilterOptions = {}): string =>
    envoyFilter(name, [statName(name)], { created, ...options });
  const last = (...filters: readonly string[]): unknown =>
    new TestMesh(services + filters.join("")).proxy().cluster(cart)["altStatName"];
  expect(last(aged("a", 1), aged("b", 0))).toBe("a");
  expect(last(aged("a", 1), aged("b", 1))).toBe("b");
  expect(last(aged("a", 0), aged("b", 1, { namespace: "istio-system" }))).toBe("a");
  expect(last(aged("a", 1, { priority: -1 }), aged("b", 0))).toBe("b");
  expect(last(aged("a", 0, { priority: 1 }), aged("b", 1))).toBe("a");
});

describe("filters of Istio's build", () => {
  const stock = { extensions: ["envoy.filters.http.router"] };
  const around = (name: string): string =>
    envoyFilter("a", [httpFilter("INSERT_BEFORE", name, "before"), httpFilter("INSERT_AFTER", name, "after")]);

  it.each(["istio.stats", "istio.alpn", "istio.metadata_exchange"])(
    "a patch relative to %s goes where the filter would be in a stock Envoy",
    (name) => {
      const mesh = new TestMesh(services + around(name), { defaultProviders: { metrics: ["prometheus"] } });
      const own = new Set(["istio.stats", "istio.alpn", "istio.metadata_exchange"]);
      const expected = httpFilters(mesh.proxy(), "0.0.0.0_80").filter((each) => !own.has(each));
      expect(expected).toEqual(expect.arrayContaining(["before", "after"]));
      expect(httpFilters(mesh.proxy(stock), "0.0.0.0_80")).toEqual(expected);
    },
  );
});

describe("clusters", () => {
  it("are added, and removed with their subsets", () => {
    const mesh = new TestMesh(
      services +
        envoyFilter("a", [
          { applyTo: "CLUSTER", patch: { operation: "ADD", value: { name: "extra" } } },
          { applyTo: "CLUSTER", match: ofService("cart"), patch: { operation: "REMOVE" } },
        ]),
    );
    const names = mesh.proxy().names(cds);
    expect(names).toContain("extra");
    expect(names).toContain(list);
    expect(names).not.toContain(cart);
  });

  it("a gateway receives those that a patch refers to", () => {
    const names = (referenced: string): readonly string[] => {
      const annotations = { "envoyfilter.istio.io/referenced-services": referenced };
      const selecting = { workloadSelector: { labels: { istio: "x" } }, annotations };
      return new TestMesh(services + envoyFilter("a", [], selecting))
        .set("PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", "true")
        .proxy({ type: "router", labels: { istio: "x" } })
        .names(cds);
    };
    expect(names("")).toEqual(["BlackHoleCluster"]);
    expect(names("cart.shop.svc.cluster.local,other/list.shop.svc.cluster.local")).toEqual(["BlackHoleCluster", cart]);
    expect(names("shop/list.shop.svc.cluster.local")).toEqual(["BlackHoleCluster", list]);
  });
});

it("extension configurations are those that patches add", () => {
  const mesh = new TestMesh(
    services + envoyFilter("a", [{ applyTo: "EXTENSION_CONFIG", patch: { operation: "ADD", value: lua("ext") } }]),
  );
  expect(mesh.proxy().names(ecds)).toEqual(["ext"]);
  expect(mesh.proxy({ namespace: "other" }).names(ecds)).toEqual([]);
});

describe("patches that add resources of one name", () => {
  const add = (applyTo: string, value: object, context = "ANY"): object => ({
    applyTo,
    match: { context },
    patch: { operation: "ADD", value },
  });
  const results = (...patches: readonly object[]): readonly (readonly [number, readonly string[]])[] =>
    new TestMesh(services + envoyFilter("a", patches))
      .proxy()
      .view.call(patchResults)
      .map(({ resources, failures }) => [resources, failures]);
  const taken = (noun: string, name: string): readonly string[] => [`another ${noun} has the name "${name}"`];
  const listenerAt = (port: number): object => ({
    name: "extra",
    address: { socket_address: { address: "127.0.0.9", port_value: port } },
  });

  it.each([
    ["extension configuration", "EXTENSION_CONFIG", lua("extra"), cors("extra")],
    ["cluster", "CLUSTER", { name: "extra" }, { name: "extra", alt_stat_name: "b" }],
    ["listener", "LISTENER", listenerAt(1), listenerAt(2)],
  ])("count for the first %s, and are skipped for the others", (noun, applyTo, first, second) => {
    expect(results(add(applyTo, first), add(applyTo, second))).toEqual([
      [1, []],
      [0, taken(noun, "extra")],
    ]);
    expect(results(add(applyTo, first), add(applyTo, first))).toEqual([
      [1, []],
      [1, []],
    ]);
  });

  it("are skipped for a name that istiod generates, unless another patch removes it", () => {
    const own = add("CLUSTER", { name: cart, alt_stat_name: "b" });
    const remove = { applyTo: "CLUSTER", match: ofService("cart"), patch: { operation: "REMOVE" } };
    expect(results(own)).toEqual([[0, taken("cluster", cart)]]);
    expect(results(remove, own)).toEqual([
      [1, []],
      [1, []],
    ]);
  });
});

describe("what a patch costs", () => {
  it("nothing of a proxy without EnvoyFilters: all share the answer that there are no patches", () => {
    const mesh = new TestMesh(services);
    const proxies = Array.from({ length: 20 }, (_, i) =>
      mesh.proxy({ namespace: `ns-${i}`, name: `web-${i}`, labels: { app: `web-${i}` } }),
    );
    proxies[0]!.view.call(applicablePatches);
    const { recomputations } = mesh.db.stats();
    for (const { view } of proxies) expect(view.call(applicablePatches)).toEqual([]);
    expect(mesh.db.stats()).toMatchObject({ recomputations, answers: 0 });
  });

  it("a resource that no patch matches is the same object", () => {
    const mesh = new TestMesh(services);
    const proxy = mesh.proxy();
    const before = types.map((type) => proxy.set(type));
    mesh.apply(envoyFilter("a", [statName("x", ofService("cart"))]));
    const after = types.map((type) => proxy.set(type));
    expect(after[0]?.get(list)).toBe(before[0]?.get(list));
    expect(difference(before[0]!, after[0]!).changed.map(({ name }) => name)).toEqual([cart]);
    expect(after.slice(1)).toEqual(before.slice(1));
    expect(after[1]).toBe(before[1]);
  });

  it("a patched resource is not built again because another changed", () => {
    const mesh = new TestMesh(services + envoyFilter("a", [statName("x")]));
    const proxy = mesh.proxy();
    const before = proxy.set(cds).get(cart);
    mesh.apply(serviceYaml("more", { ip: "10.96.0.3" }));
    expect(proxy.set(cds).size).toBe(
      new TestMesh(services + serviceYaml("more", { ip: "10.96.0.3" })).proxy().set(cds).size,
    );
    expect(proxy.set(cds).get(cart)).toBe(before);
  });

  it("an edit affects only proxies whose resources differ", () => {
    const mesh = new TestMesh(
      services + envoyFilter("a", [statName("x")], { workloadSelector: { labels: { app: "web" } } }),
    );
    const [web, api] = [mesh.proxy({ labels: { app: "web" } }), mesh.proxy({ name: "api", labels: { app: "api" } })];
    const before = [web.set(cds), api.set(cds)];
    mesh.apply(envoyFilter("a", [statName("y")], { workloadSelector: { labels: { app: "web" } } }));
    expect(web.set(cds)).not.toBe(before[0]);
    expect(api.set(cds)).toBe(before[1]);
    const then = web.set(cds);
    mesh.apply(
      envoyFilter("a", [statName("y"), statName("z", { context: "GATEWAY" })], {
        workloadSelector: { labels: { app: "web" } },
      }),
    );
    expect(web.set(cds)).toBe(then);
  });
});

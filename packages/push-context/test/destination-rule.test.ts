import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  destinationRuleFor,
  inboundDestinationRuleFor,
  subsetsOf,
  trafficPolicyFor,
} from "../src/traffic-policy/destination-rule.js";
import { type ClientOptions, rule, TestMesh } from "./mesh.js";

const host = "cart.shop.svc.cluster.local";
const cart = { host, serviceNamespace: "shop" };
/** A rule's mark: its number of connections. */
const marked = (mark: number, spec: object = {}): never =>
  ({ host, trafficPolicy: { connectionPool: { tcp: { maxConnections: mark } } }, ...spec }) as never;

function markFor(mesh: TestMesh, options: ClientOptions = {}): number | undefined {
  return mesh.client(options).ask(destinationRuleFor, cart)?.spec.trafficPolicy?.connectionPool?.tcp?.maxConnections;
}

describe("the DestinationRule of a service", () => {
  it("is that of the client's namespace, else the service's, else the root namespace's", () => {
    const mesh = new TestMesh(
      rule("a", "web", marked(1)) + rule("b", "shop", marked(2)) + rule("c", "istio-system", marked(3)),
    );
    expect(markFor(mesh, { namespace: "web" })).toBe(1);
    expect(markFor(mesh, { namespace: "other" })).toBe(2);
    mesh.remove(rule("b", "shop", marked(2)));
    expect(markFor(mesh, { namespace: "other" })).toBe(3);
    expect(markFor(mesh, { namespace: "istio-system" })).toBe(3);
  });

  it("in the root namespace does not override the service's for clients of the root namespace, unless it is private", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)) + rule("c", "istio-system", marked(3)));
    expect(markFor(mesh, { namespace: "istio-system" })).toBe(2);
    mesh.apply(rule("c", "istio-system", marked(3, { exportTo: ["."] })));
    expect(markFor(mesh, { namespace: "istio-system" })).toBe(3);
    expect(markFor(mesh, { namespace: "other" })).toBe(2);
  });

  it("is found by short name in its own namespace and by the most specific wildcard", () => {
    const mesh = new TestMesh(
      rule("all", "shop", marked(1, { host: "*" })) +
        rule("ours", "shop", marked(2, { host: "*.shop.svc.cluster.local" })),
    );
    expect(markFor(mesh)).toBe(2);
    mesh.apply(rule("short", "other", marked(4, { host: "cart" })));
    expect(markFor(mesh)).toBe(2);
    mesh.apply(rule("short", "shop", marked(3, { host: "cart" })));
    expect(markFor(mesh)).toBe(3);
  });

  it("may have a wildcard in its first label, and is ordered by length among wildcards", () => {
    const mesh = new TestMesh(
      rule("all", "shop", marked(1, { host: "*.shop.svc.cluster.local" })) +
        rule("art", "shop", marked(2, { host: "*art.shop.svc.cluster.local" })),
    );
    expect(markFor(mesh)).toBe(2);
    mesh.apply(rule("longer", "shop", marked(3, { host: "*cart.shop.svc.cluster.local" })));
    expect(markFor(mesh)).toBe(3);
    mesh.apply(rule("other", "shop", marked(4, { host: "*-cart.shop.svc.cluster.local" })));
    expect(markFor(mesh)).toBe(3);
    mesh.apply(rule("exact", "shop", marked(5)));
    expect(markFor(mesh)).toBe(5);
  });

  it("matches a wildcard service by the same or a wider wildcard only", () => {
    const mesh = new TestMesh(
      rule("wide", "shop", marked(1, { host: "*.com" })) + rule("one", "shop", marked(2, { host: "a.example.com" })),
    );
    const wildcard = { host: "*.example.com", serviceNamespace: "shop" };
    expect(mesh.client().ask(destinationRuleFor, wildcard)?.name).toBe("wide");
    mesh.apply(rule("same", "shop", marked(3, { host: "*.example.com" })));
    expect(mesh.client().ask(destinationRuleFor, wildcard)?.name).toBe("same");
  });

  it("is visible only to the namespaces it is exported to", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2, { exportTo: ["web"] })));
    expect(markFor(mesh, { namespace: "web" })).toBe(2);
    expect(markFor(mesh, { namespace: "other" })).toBeUndefined();
    expect(markFor(mesh, { namespace: "shop" })).toBeUndefined();
    mesh.apply(rule("b", "shop", marked(2, { exportTo: ["."] })));
    expect(markFor(mesh, { namespace: "shop" })).toBe(2);
    expect(markFor(mesh, { namespace: "web" })).toBeUndefined();
  });

  it("is private by the mesh's default if it has no exportTo", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)), { defaultDestinationRuleExportTo: ["."] });
    expect(markFor(mesh, { namespace: "other" })).toBeUndefined();
    expect(markFor(mesh, { namespace: "shop" })).toBe(2);
  });

  it("with a workload selector takes precedence for the workloads of its namespace that it selects", () => {
    const selecting = marked(9, { workloadSelector: { matchLabels: { app: "web" } } });
    const mesh = new TestMesh(rule("a", "shop", marked(1)) + rule("z", "shop", selecting, 20));
    expect(markFor(mesh, { labels: { app: "web" } })).toBe(9);
    expect(markFor(mesh, { labels: { app: "other" } })).toBe(1);
    expect(markFor(mesh, { namespace: "web", labels: { app: "web" } })).toBe(1);
    expect(mesh.client({ labels: { app: "web" } }).ask(inboundDestinationRuleFor, cart)?.name).toBe("a");
  });
});

describe("several DestinationRules of one namespace for a host", () => {
  const subset = (name: string, version: string) => ({ name, labels: { version } });

  it("merge their subsets, keeping the oldest of a name, and keep the oldest traffic policy", () => {
    const mesh = new TestMesh(
      rule("young", "shop", marked(2, { subsets: [subset("v1", "young"), subset("v2", "young")] }), 9) +
        rule("old", "shop", marked(1, { subsets: [subset("v1", "old")] }), 2),
    );
    expect(markFor(mesh)).toBe(1);
    expect(
      mesh
        .client()
        .ask(subsetsOf, cart)
        .map(({ name, labels }) => [name, labels["version"]]),
    ).toEqual([
      ["v1", "old"],
      ["v2", "young"],
    ]);
    expect(mesh.client().ask(destinationRuleFor, cart)).toMatchObject({
      name: "old",
      from: ["shop/old", "shop/young"],
    });
  });

  it("apply to clients that no selector selects, also if they are merged into rules with selectors", () => {
    const selecting = (version: string, spec: JsonObject, created: number): string =>
      rule(version, "shop", { ...spec, exportTo: ["."], workloadSelector: { matchLabels: { version } } }, created);
    const all = rule("all", "shop", marked(7, { exportTo: ["."], subsets: [subset("s", "all")] }), 9);
    const mesh = new TestMesh(selecting("v1", marked(1), 2) + selecting("v2", { host: "cart" }, 3) + all);
    const mark = (version: string): unknown => markFor(mesh, { labels: { version } });
    expect(["v1", "v2", "v9"].map(mark)).toEqual([1, 7, 7]);
    for (const version of ["v1", "v2", "v9"])
      expect(mesh.client({ labels: { version } }).ask(subsetsOf, cart)).toMatchObject([{ name: "s" }]);
    expect(mesh.client({ labels: { version: "v1" } }).ask(inboundDestinationRuleFor, cart)?.name).toBe("all");
    expect(mesh.client({ labels: { version: "v2" } }).ask(destinationRuleFor, cart)?.from).toEqual([
      "shop/v2",
      "shop/all",
    ]);
    const one = new TestMesh(selecting("v1", marked(1), 2) + all);
    expect(markFor(one, { labels: { version: "v9" } })).toBe(7);
    const off = new TestMesh(selecting("v1", marked(1), 2) + all);
    off.set("ENABLE_ENHANCED_DESTINATIONRULE_MERGE", "false");
    expect(markFor(off, { labels: { version: "v9" } })).toBe(7);
  });

  it("without a selector are merged with each other, whatever rules with selectors or other exportTo there are", () => {
    const mesh = new TestMesh(
      rule("v1", "shop", marked(1, { exportTo: ["."], workloadSelector: { matchLabels: { version: "v1" } } }), 1) +
        rule("a", "shop", marked(2, { exportTo: ["."], subsets: [subset("a", "a")] }), 2) +
        rule("other", "shop", marked(3, { exportTo: ["web"] }), 3) +
        rule("b", "shop", { host: "cart", exportTo: ["."], subsets: [subset("b", "b")] }, 4),
    );
    const applied = mesh.client().ask(destinationRuleFor, cart);
    expect(applied?.from).toEqual(["shop/a", "shop/b"]);
    expect(applied?.spec.subsets.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(markFor(mesh)).toBe(2);
    expect(markFor(mesh, { namespace: "web" })).toBe(3);
  });

  it("apply to all namespaces that they are exported to, also if they are merged into rules for some of them", () => {
    const mesh = new TestMesh(
      rule("narrow", "shop", marked(1, { exportTo: ["web"], subsets: [subset("a", "a")] }), 1) +
        rule("wide", "shop", marked(2, { exportTo: ["web", "pay"], subsets: [subset("b", "b")] }), 2),
    );
    expect(markFor(mesh, { namespace: "web" })).toBe(1);
    expect(mesh.client({ namespace: "web" }).ask(subsetsOf, cart)).toMatchObject([{ name: "a" }, { name: "b" }]);
    expect(markFor(mesh, { namespace: "pay" })).toBe(2);
    expect(mesh.client({ namespace: "pay" }).ask(subsetsOf, cart)).toMatchObject([{ name: "b" }]);
  });

  it("are not merged if their exportTo differs", () => {
    const mesh = new TestMesh(
      rule("own", "shop", marked(1, { exportTo: ["."] }), 1) +
        rule("all", "shop", marked(2, { exportTo: ["web"], subsets: [subset("v1", "x")] }), 2),
    );
    expect(mesh.client({ namespace: "shop" }).ask(subsetsOf, cart)).toEqual([]);
    expect(mesh.client({ namespace: "web" }).ask(subsetsOf, cart)).toHaveLength(1);
  });

  it("are merged regardless of exportTo if ENABLE_ENHANCED_DESTINATIONRULE_MERGE is off", () => {
    const mesh = new TestMesh(
      rule("own", "shop", marked(1, { exportTo: ["."] }), 1) +
        rule("all", "shop", marked(2, { exportTo: ["*"], subsets: [subset("v1", "x")] }), 2),
    );
    expect(mesh.client().ask(destinationRuleFor, cart)?.from).toEqual(["shop/all"]);
    mesh.set("ENABLE_ENHANCED_DESTINATIONRULE_MERGE", "false");
    expect(mesh.client().ask(destinationRuleFor, cart)?.from).toEqual(["shop/own", "shop/all"]);
  });
});

describe("the traffic policy of a port", () => {
  const policy = {
    host,
    trafficPolicy: {
      connectionPool: { tcp: { maxConnections: 1 } },
      loadBalancer: { simple: "ROUND_ROBIN" },
      tls: { mode: "SIMPLE" },
      portLevelSettings: [{ port: { number: 81 }, connectionPool: { tcp: { maxConnections: 81 } } }],
    },
    subsets: [
      { name: "v1", trafficPolicy: { loadBalancer: { simple: "RANDOM" } } },
      {
        name: "v2",
        trafficPolicy: { portLevelSettings: [{ port: { number: 81 }, loadBalancer: { simple: "RANDOM" } }] },
      },
    ],
  };
  const ask = (mesh: TestMesh, port: number, subset = "") =>
    mesh.client().ask(trafficPolicyFor, { ...cart, port, subset });
  const simple = { ROUND_ROBIN: 4, RANDOM: 2 };

  it("is the port-level one if there is one, without inheritance", () => {
    const mesh = new TestMesh(rule("a", "shop", policy));
    expect(ask(mesh, 81)).toMatchObject({ connectionPool: { tcp: { maxConnections: 81 } } });
    expect(ask(mesh, 81)?.loadBalancer).toBeUndefined();
    expect(ask(mesh, 81)?.tls).toBeUndefined();
  });

  it("of a subset replaces the destination's field by field", () => {
    const mesh = new TestMesh(rule("a", "shop", policy));
    expect(ask(mesh, 80, "v1")?.loadBalancer?.lbPolicy.value).toBe(simple.RANDOM);
    expect(ask(mesh, 80, "v1")?.connectionPool?.tcp?.maxConnections).toBe(1);
    expect(ask(mesh, 80, "v2")?.loadBalancer?.lbPolicy.value).toBe(simple.ROUND_ROBIN);
  });

  it("of a subset's port replaces the destination's fields even if it does not set them", () => {
    const mesh = new TestMesh(rule("a", "shop", policy));
    expect(ask(mesh, 81, "v2")?.loadBalancer?.lbPolicy.value).toBe(simple.RANDOM);
    expect(ask(mesh, 81, "v2")?.connectionPool).toBeUndefined();
  });

  it("has the mesh's defaults for fields that no rule sets", () => {
    const mesh = new TestMesh("", {
      defaultTrafficPolicy: {
        connectionPool: { tcp: { maxConnections: 7 } },
        outlierDetection: { consecutive5xxErrors: 3 },
      },
    });
    expect(ask(mesh, 80)).toMatchObject({
      connectionPool: { tcp: { maxConnections: 7 } },
      outlierDetection: { consecutive5xxErrors: 3 },
    });
    mesh.apply(rule("a", "shop", policy));
    expect(ask(mesh, 80)).toMatchObject({
      connectionPool: { tcp: { maxConnections: 1 } },
      outlierDetection: { consecutive5xxErrors: 3 },
    });
  });
});

describe("clients to which a DestinationRule does not apply", () => {
  const selecting = (namespace: string, mark: number, spec: object = {}): string =>
    rule(`selecting-${mark}`, namespace, marked(mark, { workloadSelector: { matchLabels: { app: "web" } }, ...spec }));
  const wildcard = "*.shop.svc.cluster.local";
  const marks = (mesh: TestMesh, namespace: string): unknown =>
    ["web", "other"].map((app) => markFor(mesh, { namespace, labels: { app } }));

  it("have the rules of the service's and of the root namespace, if a selector of their own selects others", () => {
    const own = selecting("web", 9);
    const root = rule("c", "istio-system", marked(3));
    expect(marks(new TestMesh(own + rule("b", "shop", marked(2)) + root), "web")).toEqual([9, 2]);
    expect(marks(new TestMesh(own + root), "web")).toEqual([9, 3]);
    expect(marks(new TestMesh(own), "web")).toEqual([9, undefined]);
  });

  it("have the public rules of the root namespace, if they are in it and a selector selects others", () => {
    const mesh = new TestMesh(selecting("istio-system", 9) + rule("c", "istio-system", marked(3)));
    expect(marks(mesh, "istio-system")).toEqual([9, 3]);
    expect(marks(mesh, "web")).toEqual([3, 3]);
    mesh.apply(rule("b", "shop", marked(2)));
    expect(marks(mesh, "istio-system")).toEqual([9, 2]);
  });

  it("have the rule of a less specific host, if a selector selects others", () => {
    const mesh = new TestMesh(selecting("shop", 9) + rule("all", "shop", marked(1, { host: wildcard })));
    expect(marks(mesh, "shop")).toEqual([9, 1]);
    mesh.apply(selecting("shop", 8, { host: wildcard, workloadSelector: { matchLabels: { app: "other" } } }));
    expect(marks(mesh, "shop")).toEqual([9, 8]);
    expect(markFor(mesh, { labels: { app: "third" } })).toBe(1);
    expect(mesh.client({ labels: { app: "web" } }).ask(inboundDestinationRuleFor, cart)?.name).toBe("all");
  });

  it("have the rule of a less specific host, if the others are not exported to them", () => {
    const text =
      rule("b", "shop", marked(2, { exportTo: ["web"] })) + rule("all", "shop", marked(1, { host: wildcard }));
    const mesh = new TestMesh(text);
    expect(["web", "other", "shop"].map((namespace) => markFor(mesh, { namespace }))).toEqual([2, 1, 1]);
    const root = new TestMesh(
      text.replaceAll('"shop"', '"istio-system"').replaceAll("namespace: shop", "namespace: istio-system"),
    );
    expect(["web", "other", "shop"].map((namespace) => markFor(root, { namespace }))).toEqual([2, 1, 1]);
  });
});

describe("classes of clients of a DestinationRule", () => {
  it("are not split by namespace if the rule is public", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)));
    const answers = ["web", "other", "shop"].map((namespace) =>
      mesh.client({ namespace }).ask(destinationRuleFor, cart),
    );
    expect(new Set(answers).size).toBe(1);
  });

  it("depend only on namespaces with a rule for the host", () => {
    const mesh = new TestMesh(
      rule("b", "shop", marked(2)) +
        rule("a", "web", marked(1)) +
        rule("x", "elsewhere", marked(1, { host: "other.example.com" })),
    );
    const { facts } = mesh.client({ namespace: "other" }).view.explain(destinationRuleFor, cart);
    expect(JSON.stringify(facts)).toContain("web");
    expect(JSON.stringify(facts)).not.toContain("elsewhere");
  });

  it("do not depend on labels if no rule of the namespace selects workloads", () => {
    const selecting = marked(9, { workloadSelector: { matchLabels: { app: "web" } } });
    const mesh = new TestMesh(rule("z", "shop", selecting));
    const facts = (namespace: string): string =>
      JSON.stringify(mesh.client({ namespace }).view.explain(destinationRuleFor, cart).facts);
    expect(facts("shop")).toContain("matchesLabels");
    expect(facts("web")).not.toContain("matchesLabels");
  });

  it("keep their result if a rule for another host changes", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)));
    const client = mesh.client();
    const before = client.ask(destinationRuleFor, cart);
    const { recomputations } = mesh.db.stats();
    mesh.apply(rule("x", "shop", marked(1, { host: "other.example.com" })));
    expect(client.ask(destinationRuleFor, cart)).toBe(before);
    expect(mesh.db.stats().recomputations).toBe(recomputations);
  });
});

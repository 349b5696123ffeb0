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

  it("in the root namespace does not stand above the service's for clients of the root namespace, unless it is theirs alone", () => {
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

  it("may begin in the middle of a label, and counts by its length among wildcards", () => {
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

  it("covers a wildcard service by itself and by wider wildcards only", () => {
    const mesh = new TestMesh(
      rule("wide", "shop", marked(1, { host: "*.com" })) + rule("one", "shop", marked(2, { host: "a.example.com" })),
    );
    const wildcard = { host: "*.example.com", serviceNamespace: "shop" };
    expect(mesh.client().ask(destinationRuleFor, wildcard)?.name).toBe("wide");
    mesh.apply(rule("same", "shop", marked(3, { host: "*.example.com" })));
    expect(mesh.client().ask(destinationRuleFor, wildcard)?.name).toBe("same");
  });

  it("is seen only where it is exported to", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2, { exportTo: ["web"] })));
    expect(markFor(mesh, { namespace: "web" })).toBe(2);
    expect(markFor(mesh, { namespace: "other" })).toBeUndefined();
    expect(markFor(mesh, { namespace: "shop" })).toBeUndefined();
    mesh.apply(rule("b", "shop", marked(2, { exportTo: ["."] })));
    expect(markFor(mesh, { namespace: "shop" })).toBe(2);
    expect(markFor(mesh, { namespace: "web" })).toBeUndefined();
  });

  it("is private where the mesh says so and it says nothing itself", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)), { defaultDestinationRuleExportTo: ["."] });
    expect(markFor(mesh, { namespace: "other" })).toBeUndefined();
    expect(markFor(mesh, { namespace: "shop" })).toBe(2);
  });

  it("with a workload selector counts before others for the workloads of its namespace that it selects", () => {
    const selecting = marked(9, { workloadSelector: { matchLabels: { app: "web" } } });
    const mesh = new TestMesh(rule("a", "shop", marked(1)) + rule("z", "shop", selecting, 20));
    expect(markFor(mesh, { labels: { app: "web" } })).toBe(9);
    expect(markFor(mesh, { labels: { app: "other" } })).toBe(1);
    expect(markFor(mesh, { namespace: "web", labels: { app: "web" } })).toBe(1);
    expect(mesh.client({ labels: { app: "web" } }).ask(inboundDestinationRuleFor, cart)?.name).toBe("a");
  });
});

describe("several DestinationRules of one namespace for a host", () => {
  const subset = (name: string, version: string): object => ({ name, labels: { version } });

  it("unite their subsets, of a repeated name the oldest, and keep the oldest traffic policy", () => {
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

  it("stay apart where they are exported differently", () => {
    const mesh = new TestMesh(
      rule("own", "shop", marked(1, { exportTo: ["."] }), 1) +
        rule("all", "shop", marked(2, { exportTo: ["web"], subsets: [subset("v1", "x")] }), 2),
    );
    expect(mesh.client({ namespace: "shop" }).ask(subsetsOf, cart)).toEqual([]);
    expect(mesh.client({ namespace: "web" }).ask(subsetsOf, cart)).toHaveLength(1);
  });

  it("are merged regardless of exportTo where the older way is asked for", () => {
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

  it("is the port's own where it has one, and then nothing is inherited", () => {
    const mesh = new TestMesh(rule("a", "shop", policy));
    expect(ask(mesh, 81)).toMatchObject({ connectionPool: { tcp: { maxConnections: 81 } } });
    expect(ask(mesh, 81)?.loadBalancer).toBeUndefined();
    expect(ask(mesh, 81)?.tls).toBeUndefined();
  });

  it("of a subset takes the place of the destination's block by block", () => {
    const mesh = new TestMesh(rule("a", "shop", policy));
    expect(ask(mesh, 80, "v1")?.loadBalancer?.lbPolicy.value).toBe(simple.RANDOM);
    expect(ask(mesh, 80, "v1")?.connectionPool?.tcp?.maxConnections).toBe(1);
    expect(ask(mesh, 80, "v2")?.loadBalancer?.lbPolicy.value).toBe(simple.ROUND_ROBIN);
  });

  it("of a subset's port replaces the destination's blocks even where it leaves them out", () => {
    const mesh = new TestMesh(rule("a", "shop", policy));
    expect(ask(mesh, 81, "v2")?.loadBalancer?.lbPolicy.value).toBe(simple.RANDOM);
    expect(ask(mesh, 81, "v2")?.connectionPool).toBeUndefined();
  });

  it("has the mesh's defaults where no rule sets the block", () => {
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

describe("clients that a rule does not tell apart", () => {
  it("share the answer: a public rule makes no classes of namespaces", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)));
    const answers = ["web", "other", "shop"].map((namespace) =>
      mesh.client({ namespace }).ask(destinationRuleFor, cart),
    );
    expect(new Set(answers).size).toBe(1);
  });

  it("are asked only about namespaces that have a rule for the host", () => {
    const mesh = new TestMesh(
      rule("b", "shop", marked(2)) +
        rule("a", "web", marked(1)) +
        rule("x", "elsewhere", marked(1, { host: "other.example.com" })),
    );
    const { facts } = mesh.client({ namespace: "other" }).view.explain(destinationRuleFor, cart);
    expect(JSON.stringify(facts)).toContain("web");
    expect(JSON.stringify(facts)).not.toContain("elsewhere");
  });

  it("are not asked about labels where no rule of their namespace selects workloads", () => {
    const selecting = marked(9, { workloadSelector: { matchLabels: { app: "web" } } });
    const mesh = new TestMesh(rule("z", "shop", selecting));
    const facts = (namespace: string): string =>
      JSON.stringify(mesh.client({ namespace }).view.explain(destinationRuleFor, cart).facts);
    expect(facts("shop")).toContain("matchesLabels");
    expect(facts("web")).not.toContain("matchesLabels");
  });

  it("keep their answer when a rule for another host changes", () => {
    const mesh = new TestMesh(rule("b", "shop", marked(2)));
    const client = mesh.client();
    const before = client.ask(destinationRuleFor, cart);
    const { recomputations } = mesh.db.stats();
    mesh.apply(rule("x", "shop", marked(1, { host: "other.example.com" })));
    expect(client.ask(destinationRuleFor, cart)).toBe(before);
    expect(mesh.db.stats().recomputations).toBe(recomputations);
  });
});

import {
  attachableListeners,
  backendPolicyHosts,
  backendPolicyRules,
  backendTlsPolicyStatus,
  gatewayApiGateways,
  gatewayStatus,
  listenerSetStatus,
} from "@istiod/gateway-api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { gateway, GatewayMesh, grant, http, https, object, roots, secret, service } from "./gateway-mesh.js";

const allowedListeners = { namespaces: { from: "Selector", selector: { matchLabels: { team: "a" } } } };
const target = { group: "", kind: "Service", name: "cart" };

/** Versions of objects, by what they are versions of. */
const versions: Readonly<Record<string, readonly string[]>> = {
  class: ["istio.io/gateway-controller", "example.com/other"].map((controllerName) =>
    object("GatewayClass", "istio", { spec: { controllerName } }),
  ),
  gateway: [
    gateway([http], { allowedListeners }),
    gateway([http, https({ name: "own" })], { addresses: [{ type: "Hostname", value: "cart" }] }),
    gateway([https({ name: "far", namespace: "vault" }), { ...http, port: 443 }]),
  ],
  other: [
    gateway([http], {}, { namespace: "shop" }),
    gateway([{ ...http, protocol: "UDP" }], {}, { namespace: "shop" }),
  ],
  set: ["front", "none"].map((name) =>
    object(
      "ListenerSet",
      "more",
      {
        spec: {
          parentRef: { name, namespace: "edge" },
          listeners: [{ ...http, name: "a", hostname: "a.example" }, http],
        },
      },
      { namespace: "shop" },
    ),
  ),
  namespace: ["a", "b"].map((team) => object("Namespace", "shop", {}, { labels: { team } })),
  grant: ["edge", "shop"].map((namespace) => grant("vault", { kind: "Gateway", namespace })),
  own: [secret("own"), secret("own", "edge", { "tls.crt": "a", "tls.key": "b" })],
  far: [secret("far", "vault")],
  roots: [roots("roots"), roots("roots", "edge", "a")],
  cart: [service("cart", [80, 443]), service("cart", [80], {}, 0)],
  policy: ["cart", "none"].map((name) =>
    object("BackendTLSPolicy", "policy", {
      spec: {
        targetRefs: [{ ...target, name }],
        validation: {
          hostname: "a.example",
          caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "roots" }],
        },
      },
    }),
  ),
  rival: [
    object("BackendTLSPolicy", "a-rival", { spec: { targetRefs: [target], validation: { hostname: "b.example" } } }),
  ],
};

const things = Object.keys(versions);

/** Returns everything that is derived. */
function results(mesh: GatewayMesh): unknown {
  const keys = ["edge/front", "shop/front"];
  return {
    derived: mesh.ask(gatewayApiGateways, undefined),
    listeners: [
      mesh.ask(attachableListeners, { kind: "Gateway", namespace: "edge", name: "front" }),
      mesh.ask(attachableListeners, { kind: "ListenerSet", namespace: "shop", name: "more" }),
    ],
    statuses: keys.map((key) => mesh.ask(gatewayStatus, key)),
    set: mesh.ask(listenerSetStatus, "shop/more"),
    rules: mesh.ask(backendPolicyHosts, undefined).map((host) => mesh.ask(backendPolicyRules, host)),
    policies: ["edge/policy", "edge/a-rival"].map((key) => mesh.ask(backendTlsPolicyStatus, key)),
  };
}

test("results after edits are those of a mesh that is built from the objects", () => {
  const edit = fc.record({ thing: fc.nat(things.length - 1), version: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(edit, { minLength: 5, maxLength: 25 }), (edits) => {
      const edited = new GatewayMesh();
      const current = new Map<string, string>();
      for (const { thing, version } of edits) {
        const name = things[thing]!;
        const before = current.get(name);
        const after = versions[name]![version];
        if (before !== undefined) edited.remove(before);
        current.delete(name);
        if (after !== undefined) {
          edited.apply(after);
          current.set(name, after);
        }
        expect(results(edited)).toEqual(results(new GatewayMesh([...current.values()].join(""))));
      }
    }),
    { numRuns: 20 },
  );
});

/** Returns the number of queries that run again for the answer after a change. */
function recomputations(mesh: GatewayMesh, change: string, ask: () => unknown): number {
  ask();
  mesh.apply(change);
  const before = mesh.db.stats().recomputations;
  ask();
  return mesh.db.stats().recomputations - before;
}

test("a change of one Gateway is not computed for the others", () => {
  const named = (i: number, listeners: readonly object[]): string =>
    object("Gateway", `g-${i}`, { spec: { gatewayClassName: "istio", listeners } });
  const of = (count: number): number => {
    const mesh = new GatewayMesh(Array.from({ length: count }, (_, i) => named(i, [http])).join(""));
    return recomputations(mesh, named(0, [{ ...http, port: 81 }]), () => mesh.ask(gatewayApiGateways, undefined));
  };
  expect(of(500)).toBe(of(5));
});

test("a change of one policy is not computed for the targets of others", () => {
  const policy = (i: number, hostname: string): string =>
    object("BackendTLSPolicy", `p-${i}`, {
      spec: { targetRefs: [{ ...target, name: `s-${i}` }], validation: { hostname } },
    });
  const of = (count: number): number => {
    const objects = Array.from({ length: count }, (_, i) => service(`s-${i}`, [80]) + policy(i, "a.example"));
    const mesh = new GatewayMesh(objects.join(""));
    return recomputations(mesh, policy(0, "b.example"), () =>
      mesh.ask(backendPolicyHosts, undefined).map((host) => mesh.ask(backendPolicyRules, host)),
    );
  };
  expect(of(200)).toBe(of(5));
});

test("10,000 listeners of ListenerSets, half of which conflict with others", () => {
  const size = 50;
  const set = (i: number): string =>
    object(
      "ListenerSet",
      `s-${i}`,
      {
        spec: {
          parentRef: { name: "front" },
          listeners: Array.from({ length: size }, (_, l) => ({
            ...http,
            name: `l-${l}`,
            hostname: `h-${(i % 100) * size + l}.example`,
          })),
        },
      },
      { age: i },
    );
  const mesh = new GatewayMesh(
    gateway([http], { allowedListeners: { namespaces: { from: "Same" } } }) +
      Array.from({ length: 200 }, (_, i) => set(i)).join(""),
  );
  expect(Object.keys(mesh.servers())).toHaveLength(5001);
  expect(mesh.ask(gatewayStatus, "edge/front")?.attachedListenerSets).toBe(100);
  expect(mesh.ask(listenerSetStatus, "edge/s-199")?.conditions.map(({ reason }) => reason)).toEqual([
    "ListenersNotValid",
    "ListenersNotValid",
  ]);
});

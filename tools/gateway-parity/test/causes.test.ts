import { explainDifferences, type JsonObject } from "@istiod/parity";
import { describe, expect, it } from "vitest";
import type { StoredObject } from "../src/api-objects.js";
import { causes } from "../src/causes.js";
import type { ComparedType } from "../src/compare-context.js";

const object = (kind: string, name: string, spec: object): StoredObject => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind,
  metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
});
const policy = object("BackendTLSPolicy", "policy", {
  targetRefs: [{ group: "", kind: "Service", name: "cart" }],
  validation: { hostname: "cart.example" },
});
const cart = "outbound|80||cart.shop.svc.cluster.local";

interface Example {
  readonly type: ComparedType;
  readonly name: string;
  readonly theirs: object;
  readonly ours: object;
  readonly objects?: readonly StoredObject[];
}

/** Returns the names of the causes, and the paths of the differences without one. */
function explained({ type, name, theirs, ours, objects = [] }: Example): readonly string[] {
  const pair = [theirs as JsonObject, ours as JsonObject] as const;
  const found = explainDifferences(causes, type, pair, { name, objects });
  return [...found.explained.map(({ cause }) => cause), ...found.unexplained.map(({ path }) => path)];
}

const accepted = (reason: string, message = "Configuration is valid"): object => ({
  Accepted: { status: reason === "Accepted" ? "True" : "False", reason, message },
});
const resolved = (reason: string, message = "", status = "False"): object => ({
  conditions: { ResolvedRefs: { status, reason, message } },
});
const listener = (conditions: object): object => ({ listeners: { http: { attachedRoutes: 0, conditions } } });
const tls = (common: object): object => ({ transportSocket: { typedConfig: { commonTlsContext: common } } });
const names = (exact: string): object => ({
  combinedValidationContext: { defaultValidationContext: { matchSubjectAltNames: [{ exact }] } },
});
const roots = (name: string): object => tls({ validationContextSdsSecretConfig: { name } });
const certificates = (name: string): object => tls({ tlsCertificateSdsSecretConfigs: [{ name }] });
const chains = (...filterChains: readonly object[]): object => ({ filterChains });
const host = (name: string, ...domains: readonly string[]): object => ({ name, domains });
const routed = (...virtualServices: readonly string[]): object => ({
  virtualHosts: [
    {
      name: "a",
      domains: ["a"],
      routes: virtualServices.map((each) => ({ metadata: { config: `/virtual-service/${each}` } })),
    },
  ],
});
const to = (cluster: string): object => ({ virtualHosts: [{ name: "a", domains: ["a"], routes: [{ cluster }] }] });
const withFilter = (filter?: string): object => ({
  virtualHosts: [{ name: "a", routes: [{ ...(filter !== undefined && { typedPerFilterConfig: { [filter]: {} } }) }] }],
});
const gateway = object("Gateway", "front", { tls: { backend: { clientCertificateRef: { name: "own" } } } });
const validating = object("Gateway", "front", { tls: { frontend: { default: { caCertificateRefs: [] } } } });
const setOf = (namespace: string): StoredObject => {
  const set = object("ListenerSet", "more", {});
  return { ...set, metadata: { ...set.metadata, namespace } };
};
/** A ListenerSet at a Gateway of a namespace. */
const setAt = (namespace: string): StoredObject =>
  object("ListenerSet", "more", { parentRef: { name: "front", namespace } });
/** A route from a parent to a pool. */
const poolRoute = (kind: string, name: string, pool = "pool"): StoredObject =>
  object("HTTPRoute", "chat", {
    parentRefs: [{ kind, name }],
    rules: [{ backendRefs: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: pool }] }],
  });
const parentsOf = (group: string, ...gateways: readonly string[]): object => ({
  parents: Object.fromEntries(gateways.map((each) => [`${group}.io Gateway shop ${each}`, {}])),
});
const forgotten = {
  type: "status" as const,
  name: "InferencePool shop/pool",
  theirs: parentsOf("networking.istio", "front", "cart"),
  ours: parentsOf("gateway.networking.k8s", "front"),
};
const grpcRoute = object("GRPCRoute", "calls", { rules: [{ backendRefs: [{ name: "cart" }] }] });
const alias = object("Service", "basket", { externalName: "cart.example" });

describe("a difference on purpose is explained", () => {
  const ancestors = (first: object, second: object): object => ({ ancestors: { a: first, b: second } });
  const fault = accepted("TargetNotFound", "none");
  const examples: Readonly<Record<string, Example>> = {
    "additions to messages": {
      type: "status",
      name: "HTTPRoute shop/a",
      theirs: { parents: { a: accepted("Accepted", "b; kind gateway.networking.k8s.io/v1/TCPRoute; a") } },
      ours: { parents: { a: accepted("Accepted", "a; b; kind TCPRoute; c") } },
    },
    "targets of a BackendTLSPolicy have their own conditions": {
      type: "status",
      name: "BackendTLSPolicy shop/policy",
      theirs: ancestors(fault, fault),
      ours: ancestors(fault, accepted("Accepted")),
    },
    "the existence of a client certificate is not told": {
      type: "status",
      name: "Gateway shop/front",
      theirs: resolved("InvalidClientCertificateRef"),
      ours: resolved("RefNotPermitted"),
    },
    "references of conflicted listeners": {
      type: "status",
      name: "Gateway shop/front",
      theirs: listener({ Conflicted: { status: "True" }, ResolvedRefs: { status: "True" } }),
      ours: listener({ Conflicted: { status: "True" } }),
    },
    "ListenerSets that were attached": {
      type: "status",
      name: "Gateway shop/front",
      theirs: { attachedListenerSets: 2 },
      ours: {},
    },
    "roots of a Gateway at its ListenerSets": {
      type: "status",
      name: "ListenerSet shop/more",
      theirs: listener(accepted("Invalid", "caCertificateRef infra/roots not accessible")),
      ours: listener(accepted("Accepted")),
      objects: [setAt("infra")],
    },
    "Gateways of an InferencePool": {
      type: "status",
      name: "InferencePool shop/pool",
      theirs: {
        parents: { "networking.istio.io Gateway shop front": {}, "networking.istio.io Gateway shop cart": {} },
      },
      ours: { parents: { "gateway.networking.k8s.io Gateway shop front": {} } },
      objects: [poolRoute("Service", "cart")],
    },
    "BackendTLSPolicies without names": {
      type: "cds",
      name: cart,
      theirs: tls({ combinedValidationContext: { defaultValidationContext: {} } }),
      ours: tls(names("cart.example")),
      objects: [policy],
    },
    "HTTP/2 of GRPCRoutes with BackendTLSPolicies": {
      type: "cds",
      name: cart,
      theirs: tls({}),
      ours: { ...tls({ alpnProtocols: ["h2"] }), typedExtensionProtocolOptions: {} },
      objects: [policy, grpcRoute],
    },
    "client certificates of Gateways": {
      type: "cds",
      name: cart,
      theirs: tls({}),
      ours: certificates("kubernetes-gateway://shop/own"),
      objects: [policy, gateway],
    },
    "roots that cannot be used": { type: "cds", name: cart, theirs: {}, ours: roots("invalid://"), objects: [policy] },
    "some certificates are not valid": {
      type: "lds",
      name: "0.0.0.0_443",
      theirs: chains(certificates("default")),
      ours: chains(certificates("kubernetes-gateway://shop/own")),
    },
    "roots of a Gateway at listeners of its ListenerSets": {
      type: "lds",
      name: "0.0.0.0_443",
      theirs: chains(roots("configmap://evil/roots-cacert")),
      ours: chains(roots("configmap://shop/roots-cacert")),
      objects: [validating, setOf("evil")],
    },
    "filter chains that match the same": {
      type: "lds",
      name: "0.0.0.0_443",
      theirs: chains({ name: "a" }, { name: "b" }),
      ours: chains({ name: "a" }),
    },
    "answers to misdirected requests": {
      type: "rds",
      name: "https.443.a",
      theirs: { virtualHosts: [host("blackhole:443", "*")] },
      ours: { virtualHosts: [host("blackhole:443", "a"), host("misdirected:443", "*")] },
    },
    aliases: {
      type: "rds",
      name: "80",
      theirs: to("outbound|80||basket.shop.svc.cluster.local"),
      ours: to("outbound|80||cart.example"),
      objects: [alias],
    },
    "endpoint pickers at sidecars": {
      type: "rds",
      name: "80",
      theirs: withFilter("envoy.filters.http.ext_proc"),
      ours: withFilter(),
      objects: [object("InferencePool", "pool", {})],
    },
    "order of hostnames": { type: "rds", name: "http.80", theirs: routed("a", "b"), ours: routed("b", "a") },
  };

  it.each(Object.entries(examples))("as %s", (cause, example) => {
    expect(explained(example)).toEqual([cause]);
  });

  it("by every cause", () => {
    expect(Object.keys(examples).sort()).toEqual(causes.map(({ name }) => name).sort());
  });
});

describe("another difference is not explained", () => {
  const examples: Readonly<Record<string, Example>> = {
    "a message without a part of Istio's": {
      type: "status",
      name: "HTTPRoute shop/a",
      theirs: { parents: { a: accepted("Accepted", "a; b") } },
      ours: { parents: { a: accepted("Accepted", "a; c") } },
    },
    "a fault that no target has here": {
      type: "status",
      name: "BackendTLSPolicy shop/policy",
      theirs: { ancestors: { a: accepted("TargetNotFound") } },
      ours: { ancestors: { a: accepted("Accepted") } },
    },
    "a certificate that a grant permits": {
      type: "status",
      name: "Gateway shop/front",
      theirs: resolved("ResolvedRefs", "", "True"),
      ours: resolved("RefNotPermitted"),
    },
    "references of another listener": {
      type: "status",
      name: "Gateway shop/front",
      theirs: listener({ ResolvedRefs: { status: "True" } }),
      ours: listener({}),
    },
    "a Gateway that Istio does not name": {
      type: "status",
      name: "InferencePool shop/pool",
      theirs: {},
      ours: { parents: { "gateway.networking.k8s.io Gateway shop front": {} } },
    },
    "a Gateway that is forgotten here": { ...forgotten, objects: [poolRoute("Gateway", "cart")] },
    "a Gateway that is forgotten here, with the name of a Service": {
      ...forgotten,
      objects: [poolRoute("Service", "cart"), poolRoute("Gateway", "cart")],
    },
    "a Gateway with the name of a Service without a route": { ...forgotten, objects: [] },
    "a Gateway with the name of a Service with a route to another pool": {
      ...forgotten,
      objects: [poolRoute("Service", "cart", "other")],
    },
    "roots of a Gateway in the namespace of its ListenerSet": {
      type: "status",
      name: "ListenerSet shop/more",
      theirs: listener(accepted("Invalid", "caCertificateRef infra/roots not accessible")),
      ours: listener(accepted("Accepted")),
      objects: [setAt("shop")],
    },
    "a listener without the roots of its Gateway, beside one with them": {
      type: "status",
      name: "ListenerSet shop/more",
      theirs: {
        listeners: {
          https: { conditions: accepted("Invalid", "caCertificateRef infra/roots not accessible") },
          http: { conditions: accepted("Invalid") },
        },
      },
      ours: {
        listeners: { https: { conditions: accepted("Accepted") }, http: { conditions: accepted("Accepted") } },
      },
      objects: [setAt("infra")],
    },
    "another name than the policy's": {
      type: "cds",
      name: cart,
      theirs: tls({}),
      ours: tls(names("other.example")),
      objects: [policy],
    },
    "HTTP/2 without a GRPCRoute": {
      type: "cds",
      name: cart,
      theirs: tls({}),
      ours: tls({ alpnProtocols: ["h2"] }),
      objects: [policy],
    },
    "roots of a cluster without a policy": { type: "cds", name: cart, theirs: {}, ours: roots("invalid://") },
    "roots that Istio uses": {
      type: "cds",
      name: cart,
      theirs: roots("configmap://shop/roots"),
      ours: roots("invalid://"),
      objects: [policy],
    },
    "the workload's certificate here": {
      type: "lds",
      name: "0.0.0.0_443",
      theirs: chains(certificates("kubernetes-gateway://shop/own")),
      ours: chains(certificates("default")),
    },
    "roots of a namespace without a ListenerSet": {
      type: "lds",
      name: "0.0.0.0_443",
      theirs: chains(roots("configmap://evil/roots-cacert")),
      ours: chains(roots("configmap://shop/roots-cacert")),
      objects: [validating, setOf("other")],
    },
    "a chain with a match of its own": {
      type: "lds",
      name: "0.0.0.0_443",
      theirs: chains({ name: "a" }, { filterChainMatch: { serverNames: ["b"] } }),
      ours: chains({ name: "a" }),
    },
    "another number of attached ListenerSets": {
      type: "status",
      name: "Gateway shop/front",
      theirs: { attachedListenerSets: 2 },
      ours: { attachedListenerSets: 1 },
    },
    "attached ListenerSets that Istio does not count": {
      type: "status",
      name: "Gateway shop/front",
      theirs: {},
      ours: { attachedListenerSets: 1 },
    },
    "a missing virtual host": {
      type: "rds",
      name: "https.443.a",
      theirs: { virtualHosts: [host("a", "a"), host("b", "b")] },
      ours: { virtualHosts: [host("a", "a"), host("misdirected:443", "b")] },
    },
    "the order of routes of one hostname": {
      type: "rds",
      name: "http.80",
      theirs: { virtualHosts: [{ name: "a", routes: [{ name: "x" }, { name: "y" }] }] },
      ours: { virtualHosts: [{ name: "a", routes: [{ name: "y" }, { name: "x" }] }] },
    },
    "another filter of a route": {
      type: "rds",
      name: "80",
      theirs: withFilter("envoy.filters.http.fault"),
      ours: withFilter(),
      objects: [object("InferencePool", "pool", {})],
    },
    "a cluster of another name": { type: "rds", name: "80", theirs: to("a"), ours: to("b"), objects: [alias] },
  };

  it.each(Object.entries(examples))("such as %s", (_, example) => {
    expect(explained(example)).toEqual(expect.arrayContaining([expect.stringMatching(/^\//)]));
  });
});

import { toJson } from "@bufbuild/protobuf";
import {
  backendPolicyHosts,
  backendPolicyRules,
  backendStatus,
  backendTlsPolicyStatus,
  backendTrafficPolicyStatus,
  type PolicyStatus,
} from "@istiod/gateway-api";
import { DestinationRuleSchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { describe, expect, test } from "vitest";
import { GatewayMesh, notable, object, roots, service } from "./gateway-mesh.js";

const target = { group: "", kind: "Service", name: "cart" };
const ref = { group: "", kind: "ConfigMap", name: "roots" };
const validation = { hostname: "cart.example", wellKnownCACertificates: "System" };

function tlsPolicy(name: string, spec: object = {}, metadata: object = {}): string {
  return object("BackendTLSPolicy", name, { spec: { targetRefs: [target], validation, ...spec } }, metadata);
}

function mesh(...yaml: readonly string[]): GatewayMesh {
  return new GatewayMesh(service("cart", [80, 443]) + yaml.join("")).set("PILOT_ENABLE_ALPHA_GATEWAY_API", "true");
}

/** Returns the traffic policies that are derived, by host. */
function policies(built: GatewayMesh): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    built.ask(backendPolicyHosts, undefined).map((host) => {
      const specs = built.ask(backendPolicyRules, host).map(({ spec }) => toJson(DestinationRuleSchema, spec));
      return [host, specs.map((spec) => (spec as { readonly trafficPolicy?: unknown }).trafficPolicy)];
    }),
  );
}

function faultsOf(status: PolicyStatus | undefined): unknown {
  return status?.ancestors.map(({ ancestorRef: { kind, name }, conditions }) => [
    `${kind} ${name}`,
    ...notable(conditions),
  ]);
}

const cart = "cart.edge.svc.cluster.local";
const system = { mode: "SIMPLE", sni: "cart.example", subjectAltNames: ["cart.example"] };

describe("BackendTLSPolicies", () => {
  test("set the TLS settings of a Service, of all ports or one", () => {
    expect(policies(mesh(tlsPolicy("all")))).toEqual({ [cart]: [{ tls: system }] });
    const one = { targetRefs: [{ ...target, sectionName: "p-443" }] };
    expect(policies(mesh(tlsPolicy("one", one)))).toEqual({
      [cart]: [{ portLevelSettings: [{ port: { number: 443 }, tls: system }] }],
    });
    expect(policies(mesh(tlsPolicy("all"), tlsPolicy("one", one)))).toEqual({
      [cart]: [{ tls: system, portLevelSettings: [{ port: { number: 443 }, tls: system }] }],
    });
  });

  test("let GRPCRoutes use HTTP/2 to the ports that they name", () => {
    const route = (port: number): string =>
      object("GRPCRoute", "calls", { spec: { rules: [{ backendRefs: [{ name: "cart", port }] }] } });
    const connectionPool = { http: { h2UpgradePolicy: "UPGRADE" } };
    const one = tlsPolicy("one", { targetRefs: [{ ...target, sectionName: "p-443" }] });
    expect(policies(mesh(one, route(80)))).toEqual(policies(mesh(one)));
    expect(policies(mesh(one, route(443)))).toEqual({
      [cart]: [{ portLevelSettings: [{ port: { number: 443 }, tls: system, connectionPool }] }],
    });
    const all = {
      [cart]: [{ tls: system, portLevelSettings: [{ port: { number: 443 }, tls: system, connectionPool }] }],
    };
    expect(policies(mesh(tlsPolicy("all"), route(443)))).toEqual(all);
    // Of another namespace, with and without a grant.
    const foreign = `---\n${JSON.stringify({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GRPCRoute",
      metadata: { name: "calls", namespace: "other" },
      spec: { rules: [{ backendRefs: [{ name: "cart", namespace: "edge", port: 443 }] }] },
    })}\n`;
    expect(policies(mesh(tlsPolicy("all"), foreign))).toEqual(policies(mesh(tlsPolicy("all"))));
    const from = [{ group: "gateway.networking.k8s.io", kind: "GRPCRoute", namespace: "other" }];
    const grant = object("ReferenceGrant", "calls", { spec: { from, to: [{ group: "", kind: "Service" }] } });
    expect(policies(mesh(tlsPolicy("all"), foreign, grant))).toEqual(all);
  });

  test("validate certificates by the roots and names that they declare", () => {
    const subjectAltNames = [
      { type: "Hostname", hostname: "a.example" },
      { type: "URI", uri: "spiffe://a/b" },
    ];
    const spec = { validation: { hostname: "cart.example", caCertificateRefs: [ref], subjectAltNames } };
    expect(policies(mesh(roots("roots"), tlsPolicy("a", spec)))).toEqual({
      [cart]: [
        {
          tls: {
            ...system,
            credentialName: "configmap://edge/roots",
            subjectAltNames: ["a.example", "spiffe://a/b"],
          },
        },
      ],
    });
  });

  test.each([
    ["absent roots", "", { caCertificateRefs: [ref] }, "InvalidCACertificateRef"],
    ["malformed roots", roots("roots", "edge", "a"), { caCertificateRefs: [ref] }, "InvalidCACertificateRef"],
    ["a Secret", "", { caCertificateRefs: [{ ...ref, kind: "Bundle" }] }, "InvalidKind"],
  ])("with %s let no connection through", (_, yaml, of, reason) => {
    const built = mesh(yaml, tlsPolicy("a", { validation: { hostname: "cart.example", ...of } }));
    expect(policies(built)).toEqual({ [cart]: [{ tls: { ...system, credentialName: "invalid://" } }] });
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/a"))).toEqual([
      ["Service cart", "Accepted=False NoValidCACertificate", `ResolvedRefs=False ${reason}`],
    ]);
  });

  test("with unknown well-known roots let no connection through", () => {
    const built = mesh(tlsPolicy("a", { validation: { ...validation, wellKnownCACertificates: "example.com/x" } }));
    expect(policies(built)).toEqual({ [cart]: [{ tls: { ...system, credentialName: "invalid://" } }] });
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/a"))).toEqual([["Service cart", "Accepted=False Invalid"]]);
  });

  test("apply to each host of a ServiceEntry", () => {
    const entry = object("ServiceEntry", "api", {
      spec: {
        hosts: ["a.example", "b.example"],
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
        resolution: "DNS",
      },
    });
    const targetRefs = [{ group: "networking.istio.io", kind: "ServiceEntry", name: "api", sectionName: "tls" }];
    const settings = { portLevelSettings: [{ port: { number: 443 }, tls: system }] };
    expect(policies(mesh(entry, tlsPolicy("a", { targetRefs })))).toEqual({
      "a.example": [settings],
      "b.example": [settings],
    });
  });

  test("do not apply to targets that do not exist, but to the others", () => {
    const targetRefs = [
      { ...target, name: "none" },
      { ...target, sectionName: "x" },
      { ...target, group: "a.b" },
      target,
    ];
    const built = mesh(tlsPolicy("a", { targetRefs }));
    expect(policies(built)).toEqual({ [cart]: [{ tls: system }] });
    const fault = "Accepted=False TargetNotFound";
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/a"))).toEqual([
      ["Service none", fault],
      ["Service cart", fault],
      ["Service cart", fault],
      ["Service cart"],
    ]);
  });

  test("of one target: the oldest applies, and the next one as soon as it is gone", () => {
    const young = tlsPolicy("a", { validation: { ...validation, hostname: "young.example" } }, { age: 2 });
    const built = mesh(young, tlsPolicy("b", {}, { age: 1 }));
    expect(policies(built)).toEqual({ [cart]: [{ tls: system }] });
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/a"))).toEqual([
      ["Service cart", "Accepted=False Conflicted"],
    ]);
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/b"))).toEqual([["Service cart"]]);
    built.remove(tlsPolicy("b"));
    expect(policies(built)).toEqual({
      [cart]: [{ tls: { ...system, sni: "young.example", subjectAltNames: ["young.example"] } }],
    });
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/a"))).toEqual([["Service cart"]]);
  });

  test("with the annotation that excludes them have no effect, and take no place", () => {
    const annotations = { "istio.io/ignore-policy-attachment": "True" };
    const built = mesh(tlsPolicy("a", {}, { annotations, age: 1 }), tlsPolicy("b", {}, { age: 2 }));
    expect(policies(built)).toEqual({ [cart]: [{ tls: system }] });
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/a"))).toEqual([
      ["Service cart", "Accepted=False IgnoredByIstio"],
    ]);
    expect(faultsOf(built.ask(backendTlsPolicyStatus, "edge/b"))).toEqual([["Service cart"]]);
  });

  test("tell the Gateways of routes to their targets", () => {
    const route = object("HTTPRoute", "r", {
      spec: { parentRefs: [{ name: "front" }], rules: [{ backendRefs: [{ name: "cart", port: 80 }] }] },
    });
    expect(faultsOf(mesh(route, tlsPolicy("a")).ask(backendTlsPolicyStatus, "edge/a"))).toEqual([
      ["Service cart"],
      ["Gateway front"],
    ]);
  });

  test("have at most 16 ancestors", () => {
    const targetRefs = Array.from({ length: 20 }, (_, i) => ({ ...target, name: `s-${i}` }));
    expect(mesh(tlsPolicy("a", { targetRefs })).ask(backendTlsPolicyStatus, "edge/a")?.ancestors).toHaveLength(16);
  });
});

describe("XBackendTrafficPolicies", () => {
  const policy = (constraint: object, targetRefs: readonly object[] = [target]): string =>
    object("XBackendTrafficPolicy", "retries", { spec: { targetRefs, ...constraint } });

  test("limit retries", () => {
    const constraint = { budget: { percent: 10, interval: "1m30s" }, minRetryRate: { count: 3, interval: "1s" } };
    expect(policies(mesh(policy({ retryConstraint: constraint })))).toEqual({
      [cart]: [{ loadBalancer: {}, retryBudget: { percent: 10, budgetInterval: "90s", minRetryConcurrency: 3 } }],
    });
    expect(policies(mesh(policy({ retryConstraint: { budget: {} } })))).toEqual({
      [cart]: [{ loadBalancer: {}, retryBudget: { budgetInterval: "10s", minRetryConcurrency: 10 } }],
    });
  });

  test("are merged with BackendTLSPolicies", () => {
    const built = mesh(policy({ retryConstraint: { budget: {} } }), tlsPolicy("a"));
    expect(policies(built)).toMatchObject({ [cart]: [{ tls: system, retryBudget: { minRetryConcurrency: 10 } }] });
  });

  test("have no effect unless the experimental kinds are enabled", () => {
    const built = mesh(policy({ retryConstraint: { budget: {} } })).set("PILOT_ENABLE_ALPHA_GATEWAY_API", "false");
    expect(policies(built)).toEqual({});
    expect(built.ask(backendTrafficPolicyStatus, "edge/retries")).toBeUndefined();
  });

  test("tell what is not supported, and targets that are no Services", () => {
    const entry = { group: "networking.istio.io", kind: "ServiceEntry", name: "api" };
    const built = mesh(policy({ sessionPersistence: { type: "Cookie" } }, [target, entry]));
    const [first, second] = built.ask(backendTrafficPolicyStatus, "edge/retries")!.ancestors;
    expect(first?.conditions[0]?.message).toMatch(/Istio does not support the following fields: sessionPersistence$/);
    expect(notable(second!.conditions)).toEqual(["Accepted=False TargetNotFound"]);
  });
});

describe("XBackends", () => {
  const backend = (tls: object, more: object = {}): string =>
    object("XBackend", "api", {
      spec: {
        type: "ExternalHostname",
        externalHostname: { hostname: "api.example" },
        port: { number: 8443 },
        tls,
        ...more,
      },
    });

  test("originate TLS at their port", () => {
    expect(policies(mesh(backend({ mode: "ServerOnly", validation })))).toEqual({
      "api.example": [{ portLevelSettings: [{ port: { number: 8443 }, tls: system }] }],
    });
    expect(policies(mesh(backend({ mode: "None" })))).toEqual({});
  });

  test.each([
    [{ mode: "ClientAndServer", validation }, {}],
    [{ mode: "None" }, { type: "EndpointSelector" }],
  ])("that are not supported say so: %o %o", (tls, more) => {
    const built = mesh(backend(tls, more));
    expect(policies(built)).toEqual({});
    expect(faultsOf(built.ask(backendStatus, "edge/api"))).toEqual([["XBackend api", "Accepted=False Invalid"]]);
  });
});

import { gatewayClassStatus, gatewayStatus } from "@istiod/gateway-api";
import { describe, expect, test } from "vitest";
import { gateway, GatewayMesh, grant, http, notable, object, secret, service } from "./gateway-mesh.js";

const bound = { addresses: [{ type: "Hostname", value: "gate" }] };
const loadBalancer = (...ingress: readonly object[]): object => ({
  spec: { clusterIP: "10.2.0.1", type: "LoadBalancer", ports: [{ name: "p-80", port: 80 }] },
  status: { loadBalancer: { ingress } },
});

function conditionOf(built: GatewayMesh, type: string): unknown {
  const found = built.ask(gatewayStatus, "edge/front")?.conditions.find((condition) => condition.type === type);
  return found && `${found.status} ${found.reason}: ${found.message}`;
}

describe("addresses of a Gateway", () => {
  const addressesOf = (...yaml: readonly string[]): unknown =>
    new GatewayMesh(gateway([http], bound) + yaml.join("")).ask(gatewayStatus, "edge/front")?.addresses;

  test("are those of its load balancer", () => {
    expect(addressesOf(service("gate", [80], loadBalancer({ ip: "192.0.2.1" }, { hostname: "lb.example" })))).toEqual([
      { type: "IPAddress", value: "192.0.2.1" },
      { type: "Hostname", value: "lb.example" },
    ]);
  });

  test("are hostnames of Services without one", () => {
    expect(addressesOf(service("gate", [80]))).toEqual([{ type: "Hostname", value: "gate.edge.svc.cluster.local" }]);
  });

  test("may be IP addresses of Services", () => {
    const annotations = { "networking.istio.io/address-type": "IPAddress" };
    const built = new GatewayMesh(gateway([http], bound, { annotations }) + service("gate", [80]));
    expect(built.ask(gatewayStatus, "edge/front")?.addresses).toEqual([{ type: "IPAddress", value: "10.2.0.1" }]);
  });

  test("are none while the load balancer has none, or nothing serves", () => {
    expect(addressesOf(service("gate", [80], loadBalancer()))).toEqual([]);
    expect(addressesOf(service("gate", [80], {}, 0))).toEqual([]);
    expect(addressesOf()).toEqual([]);
  });
});

describe("a Gateway is programmed", () => {
  const programmed = (...yaml: readonly string[]): unknown =>
    conditionOf(new GatewayMesh(gateway([http], bound) + yaml.join("")), "Programmed");
  const failed = "Failed to assign to any requested addresses";

  test("if its Services have endpoints for its ports", () => {
    expect(programmed(service("gate", [80]))).toBe(
      "True Programmed: Resource programmed, assigned to service(s) gate.edge.svc.cluster.local:80",
    );
  });

  test.each([
    ["there is no Service", "", `AddressNotUsable: ${failed}: hostname "gate.edge.svc.cluster.local" not found`],
    [
      "there are no endpoints",
      service("gate", [80], {}, 0),
      `AddressNotAssigned: ${failed}: no instances found for hostname "gate.edge.svc.cluster.local"`,
    ],
    [
      "the Service has other ports",
      service("gate", [81]),
      `AddressNotUsable: ${failed}: port 80 not found for hostname "gate.edge.svc.cluster.local"`,
    ],
    [
      "the load balancer has no address",
      service("gate", [80], loadBalancer()),
      'AddressNotAssigned: Assigned to service(s) gate.edge.svc.cluster.local:80, but failed to assign to all requested addresses: address pending for hostname "gate.edge.svc.cluster.local"',
    ],
  ])("not if %s", (_, yaml, expected) => {
    expect(programmed(yaml)).toBe(`False ${expected}`);
  });

  test("not at a workload's port, for which the Service's is named", () => {
    const built = new GatewayMesh(gateway([{ ...http, port: 8080 }], bound) + service("gate", [80]));
    expect(conditionOf(built, "Programmed")).toBe(
      `False AddressNotUsable: ${failed}: port 8080 not found for hostname "gate.edge.svc.cluster.local" (hint: the service port should be specified, not the workload port. Did you mean one of these ports: [80]?)`,
    );
  });

  test("not by a Service of another namespace", () => {
    const far = { addresses: [{ type: "Hostname", value: "gate.edge.svc.cluster.local" }] };
    const built = new GatewayMesh(gateway([http], far, { namespace: "shop" }) + service("gate", [80]));
    expect(built.ask(gatewayStatus, "shop/front")?.conditions).toContainEqual({
      type: "Programmed",
      status: "False",
      reason: "AddressNotUsable",
      message: `${failed}: hostname "gate.edge.svc.cluster.local" not found in namespace "shop", but it was found in namespace(s) "edge"`,
    });
  });
});

describe("a Gateway is accepted", () => {
  const accepted = (listeners: readonly object[], spec: object, ...yaml: readonly string[]): unknown =>
    conditionOf(new GatewayMesh(gateway(listeners, spec) + yaml.join("")), "Accepted");

  test("not with addresses that name no Services", () => {
    const addresses = [
      { type: "IPAddress", value: "192.0.2.1" },
      { type: "NamedAddress", value: "a" },
    ];
    expect(accepted([http], { addresses })).toBe(
      "False UnsupportedAddress: only Hostname is supported, ignoring [192.0.2.1 a]",
    );
    expect(accepted([http], { addresses: addresses.slice(0, 1) })).toBe("True Accepted: Resource accepted");
  });

  test("not with parameters that are no ConfigMap, or an absent one", () => {
    const withParameters = (ref: object): object => ({ infrastructure: { parametersRef: ref } });
    const ref = { group: "", kind: "ConfigMap", name: "defaults" };
    expect(accepted([http], withParameters({ ...ref, group: "a.b" }))).toBe(
      "False InvalidParameters: Unsupported parametersRef group/kind a.b/ConfigMap, only ConfigMap is supported",
    );
    expect(accepted([http], withParameters(ref))).toBe(
      "False InvalidParameters: parametersRef ConfigMap edge/defaults does not exist",
    );
    expect(accepted([http], withParameters(ref), object("ConfigMap", "defaults", { data: {} }))).toBe(
      "True Accepted: Resource accepted",
    );
  });

  test("as long as one of its listeners is valid", () => {
    const odd = { ...http, name: "odd", port: 81, protocol: "UDP" };
    expect(accepted([http, odd], {})).toBe(
      "True ListenersNotValid: One or more of the Gateway's listeners are invalid",
    );
    expect(accepted([odd], {})).toBe("False ListenersNotValid: None of the Gateway's listeners are valid");
  });
});

test("the references of a Gateway are resolved if its client certificate is valid, and granted", () => {
  const ref = (namespace: string): object => ({
    tls: { backend: { clientCertificateRef: { name: "client", namespace } } },
  });
  const resolved = (...yaml: readonly string[]): unknown => conditionOf(new GatewayMesh(yaml.join("")), "ResolvedRefs");
  expect(resolved(gateway([http], ref("edge")), secret("client"))).toBe("True ResolvedRefs: All references resolved");
  expect(resolved(gateway([http], ref("edge")))).toBe(
    "False InvalidClientCertificateRef: invalid clientCertificateRef //client.edge, secret edge/client not found",
  );
  const far = [gateway([http], ref("vault")), secret("client", "vault")];
  expect(resolved(...far)).toMatch(/^False RefNotPermitted: clientCertificateRef client\/vault not accessible/);
  // The existence of a Secret is not told without a grant, and the kind of the reference is.
  expect(resolved(gateway([http], ref("vault")))).toBe(resolved(...far));
  const configMap = {
    tls: { backend: { clientCertificateRef: { kind: "ConfigMap", name: "a", namespace: "vault" } } },
  };
  expect(resolved(gateway([http], configMap))).toBe(
    "False InvalidClientCertificateRef: invalid clientCertificateRef /ConfigMap/a.vault, only secret is allowed",
  );
  expect(resolved(...far, grant("vault", { kind: "Gateway", namespace: "edge" }))).toMatch(/^True/);
});

test("one bad Gateway does not change another one", () => {
  const good = gateway([http], bound, { namespace: "shop" });
  const bad = gateway([{ ...http, protocol: "UDP" }], { addresses: [{ type: "NamedAddress", value: "a" }] });
  const alone = new GatewayMesh(good).ask(gatewayStatus, "shop/front");
  const built = new GatewayMesh(good + bad);
  expect(built.ask(gatewayStatus, "shop/front")).toEqual(alone);
  expect(notable(built.ask(gatewayStatus, "edge/front")!.conditions)).toEqual([
    "Accepted=False UnsupportedAddress",
    "Programmed=False UnsupportedAddress",
  ]);
});

test("a GatewayClass of istiod is accepted, others have no status", () => {
  const gatewayClass = (name: string, controllerName: string): string =>
    object("GatewayClass", name, { spec: { controllerName } });
  const built = new GatewayMesh(gatewayClass("own", "istio.io/gateway-controller") + gatewayClass("other", "a.b/c"));
  expect(built.ask(gatewayClassStatus, "own")?.conditions).toEqual([
    { type: "Accepted", status: "True", reason: "Accepted", message: "Handled by Istio controller" },
  ]);
  expect(built.ask(gatewayClassStatus, "other")).toBeUndefined();
  expect(built.ask(gatewayClassStatus, "istio")).toBeUndefined();
});

import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const conditions = "conditions.ConditionAnalyzer";

const object = (apiVersion: string, kind: string, status: string): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nstatus:\n${status}\n`;

const condition = (type: string, status: string, reason = "Why"): string =>
  `  - {type: ${type}, status: "${status}", reason: ${reason}, message: because}`;

const found = (apiVersion: string, kind: string, status: string): readonly string[] =>
  placesOf(conditions, object(apiVersion, kind, status)).filter((place) => place.startsWith("IST0171"));

describe("negative conditions", () => {
  it.each([
    ["v1", "Service", "istio.io/WaypointBound"],
    ["networking.istio.io/v1", "ServiceEntry", "istio.io/WaypointBound"],
    ["networking.istio.io/v1", "WorkloadEntry", "istio.io/WaypointBound"],
    ["security.istio.io/v1", "AuthorizationPolicy", "ZtunnelAccepted"],
    ["gateway.networking.k8s.io/v1", "Gateway", "Programmed"],
  ])("%s %s has %s", (apiVersion, kind, type) => {
    expect(
      found(apiVersion, kind, `  conditions:\n${condition("Other", "False")}\n${condition(type, "False")}`),
    ).toEqual([`IST0171 ${kind} default/a 7`]);
    expect(found(apiVersion, kind, `  conditions:\n${condition(type, "True")}\n${condition(type, "Unknown")}`)).toEqual(
      [],
    );
  });

  it.each(["HTTPRoute", "GRPCRoute"])("a parent of %s has", (kind) => {
    const parents = `  parents:\n  - conditions: []\n  - conditions:\n  ${condition("Accepted", "True")}\n  ${condition("ResolvedRefs", "False")}`;
    expect(found("gateway.networking.k8s.io/v1", kind, parents)).toEqual([`IST0171 ${kind} default/a 9`]);
  });

  it("are reported with their reasons", () => {
    expect(
      messagesOf(conditions, object("v1", "Service", `  conditions:\n${condition("istio.io/WaypointBound", "False")}`)),
    ).toEqual([
      "IST0171 Service default/a 6: the status has the negative condition istio.io/WaypointBound=False with reason Why: because",
    ]);
  });

  it("include a true condition for a partially invalid policy", () => {
    const status = (type: string, reason: string): string => `  conditions:\n${condition(type, "True", reason)}`;
    expect(
      found("security.istio.io/v1", "AuthorizationPolicy", status("WaypointAccepted", "PartiallyInvalid")),
    ).toEqual(["IST0171 AuthorizationPolicy default/a 6"]);
    expect(found("security.istio.io/v1", "AuthorizationPolicy", status("ZtunnelAccepted", "PartiallyInvalid"))).toEqual(
      [],
    );
  });
});

describe("an object of the Gateway API", () => {
  it("has no effect if Istio does not support its kind", () => {
    const text = "apiVersion: gateway.networking.k8s.io/v1\nkind: UDPRoute\nmetadata: {name: a}\n";
    expect(messagesOf("mesh.WithoutEffectAnalyzer", text)).toEqual([
      "MESH0002 UDPRoute default/a 2: UDPRoute has no effect: Istio does not route UDP",
    ]);
  });

  it("has no effect without the variable that enables its kind", () => {
    const text = `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: a}
spec: {type: ExternalHostname, externalHostname: {hostname: a.example}, port: {number: 80}}
`;
    expect(messagesOf("mesh.WithoutEffectAnalyzer", text)).toEqual([
      "MESH0002 XBackend default/a 2: XBackend has no effect: istiod reads it only with PILOT_ENABLE_ALPHA_GATEWAY_API",
    ]);
  });
});

import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const object = (kind: string, spec: string, group = "networking.istio.io/v1"): string =>
  `apiVersion: ${group}\nkind: ${kind}\nmetadata: {name: a}\n${spec}\n`;

describe("validation", () => {
  it("warns about every EnvoyFilter", () => {
    const text = object("EnvoyFilter", "spec: {}", "networking.istio.io/v1alpha3");
    expect(messagesOf("schema.ValidationAnalyzer.EnvoyFilter", text)).toEqual([
      "IST0133 EnvoyFilter default/a 1: EnvoyFilter exposes internal implementation details that may change at any time; prefer other APIs where they suffice, and check it at each upgrade",
    ]);
    expect(placesOf("schema.ValidationAnalyzer.Sidecar", text)).toEqual([]);
  });

  it("distinguishes errors from warnings", () => {
    const entry = (port: string): string =>
      object(
        "ServiceEntry",
        `spec:\n  hosts: [a.example.com]\n  resolution: NONE\n  ports: [{number: ${port}, name: tcp, protocol: TCP}]`,
      );
    expect(placesOf("schema.ValidationAnalyzer.ServiceEntry", entry("80"))).toEqual([
      "IST0133 ServiceEntry default/a 7",
    ]);
    expect(placesOf("schema.ValidationAnalyzer.ServiceEntry", entry("80000"))).toEqual([
      "IST0106 ServiceEntry default/a 7",
    ]);
  });
});

describe("an object that validation rejects", () => {
  const deprecated = "deprecation.DeprecationAnalyzer";

  it("is analyzed without its unknown fields", () => {
    const sidecar = object(
      "Sidecar",
      "spec:\n  outboundTrafficPolicy:\n    egressProxy: {host: a.b}\n  unknownField: 1",
    );
    expect(placesOf("schema.ValidationAnalyzer.Sidecar", sidecar)).toEqual(["IST0106 Sidecar default/a 7"]);
    expect(placesOf(deprecated, sidecar)).toEqual(["IST0002 Sidecar default/a 6"]);
  });

  it("is analyzed without its spec", () => {
    const entry = object("ServiceEntry", 'status: {conditions: [{type: istio.io/WaypointBound, status: "False"}]}');
    expect(placesOf("schema.ValidationAnalyzer.ServiceEntry", entry)).toEqual(["IST0106 ServiceEntry default/a 1"]);
    expect(placesOf("conditions.ConditionAnalyzer", entry)).toEqual(["IST0171 ServiceEntry default/a 4"]);
  });
});

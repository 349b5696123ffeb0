import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const deprecated = "deprecation.DeprecationAnalyzer";

const object = (apiVersion: string, kind: string, spec: string): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nspec:\n${spec}\n`;

describe("deprecated", () => {
  it("percentages of delays", () => {
    const delay = (field: string): string =>
      object(
        "networking.istio.io/v1",
        "VirtualService",
        `  hosts: [a]\n  http:\n  - route: [{destination: {host: a}}]\n    fault: {delay: {fixedDelay: 1s, ${field}}}`,
      );
    expect(messagesOf(deprecated, delay("percent: 5"))).toEqual([
      "IST0002 VirtualService default/a 8: fault.delay.percent is deprecated; use fault.delay.percentage instead",
    ]);
    expect(placesOf(deprecated, delay("percentage: {value: 5}"))).toEqual([]);
  });

  it("egress proxies of Sidecars", () => {
    const policy = (proxy: string): string =>
      object("networking.istio.io/v1", "Sidecar", `  outboundTrafficPolicy:\n    mode: ALLOW_ANY\n${proxy}`);
    expect(messagesOf(deprecated, policy("    egressProxy: {host: a.b}"))).toEqual([
      "IST0002 Sidecar default/a 7: outboundTrafficPolicy.egressProxy is deprecated and ignored; remove it",
    ]);
    expect(placesOf(deprecated, policy(""))).toEqual([]);
  });

  it("kinds of rbac.istio.io", () => {
    const definition = (group: string, kind: string): string =>
      object("apiextensions.k8s.io/v1", "CustomResourceDefinition", `  group: ${group}\n  names: {kind: ${kind}}`);
    expect(messagesOf(deprecated, definition("rbac.istio.io", "ServiceRole"))).toEqual([
      "IST0002 CustomResourceDefinition a 4: custom resource type rbac.istio.io ServiceRole is deprecated: it was removed from Istio and has no effect; use AuthorizationPolicy instead",
    ]);
    expect(placesOf(deprecated, definition("rbac.istio.io", "Other"))).toEqual([]);
    expect(placesOf(deprecated, definition("example.com", "ServiceRole"))).toEqual([]);
  });
});

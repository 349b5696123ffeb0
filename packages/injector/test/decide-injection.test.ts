import { decideInjection, type InjectionPolicy, type Pod } from "@istiod/injector";
import { describe, expect, it } from "vitest";

const enabled: InjectionPolicy = { policy: "enabled" };
const disabled: InjectionPolicy = { policy: "disabled" };
const pod = (
  labels: Record<string, string> = {},
  annotations: Record<string, string> = {},
  hostNetwork = false,
): Pod => ({ metadata: { labels, annotations }, spec: { hostNetwork } });
const inject = { "sidecar.istio.io/inject": "true" };
const refuse = { "sidecar.istio.io/inject": "false" };

describe("decideInjection", () => {
  it.each([
    ["a pod that says nothing, by the policy", pod(), "shop", enabled, true, "policy"],
    ["a pod that says nothing, by the policy against it", pod(), "shop", disabled, false, "policy"],
    ["a pod whose label asks for it", pod(inject), "shop", disabled, true, "label"],
    ["a pod whose label refuses it", pod(refuse), "shop", enabled, false, "label"],
    ["a pod whose label and annotation differ: the label counts", pod(refuse, inject), "shop", enabled, false, "label"],
    ["a pod whose annotation asks for it", pod({}, inject), "shop", disabled, true, "annotation"],
    ["a pod on the host's network, whatever it says", pod(inject, {}, true), "shop", enabled, false, "host-network"],
    ["a pod of kube-system, whatever it says", pod(inject), "kube-system", enabled, false, "system-namespace"],
  ] as const)("%s", (_, of, namespace, policy, expected, reason) => {
    expect(decideInjection(of, namespace, policy)).toEqual({ inject: expected, reason, warnings: [] });
  });

  it("evaluates neverInjectSelector before alwaysInjectSelector, and both before the policy", () => {
    const policy = {
      ...disabled,
      neverInjectSelector: [{ matchLabels: { job: "batch" } }],
      alwaysInjectSelector: [{ matchExpressions: [{ key: "team", operator: "In", values: ["a", "b"] }] }],
    };
    expect(decideInjection(pod({ team: "a" }), "shop", policy)).toMatchObject({
      inject: true,
      reason: "always-inject-selector",
    });
    expect(decideInjection(pod({ team: "a", job: "batch" }), "shop", policy)).toMatchObject({
      inject: false,
      reason: "never-inject-selector",
    });
    expect(decideInjection(pod({ team: "c" }), "shop", policy)).toMatchObject({ inject: false, reason: "policy" });
    expect(decideInjection(pod({ ...inject, job: "batch" }), "shop", policy)).toMatchObject({
      inject: true,
      reason: "label",
    });
  });

  it("ignores an empty selector", () => {
    expect(decideInjection(pod(), "shop", { ...enabled, neverInjectSelector: [{}] })).toMatchObject({
      inject: true,
      reason: "policy",
    });
  });

  it("ignores invalid values and selectors with a warning", () => {
    const policy = {
      ...enabled,
      neverInjectSelector: [{ matchExpressions: [{ key: "a", operator: "Like", values: [] }] }],
    };
    const decision = decideInjection(pod({ "sidecar.istio.io/inject": "yes" }), "shop", policy);
    expect(decision).toMatchObject({ inject: true, reason: "policy" });
    expect(decision.warnings).toEqual([
      expect.stringContaining('is "yes"'),
      expect.stringContaining("operator is Like"),
    ]);
  });

  it("does not inject with an invalid policy", () => {
    expect(decideInjection(pod(inject), "shop", { policy: "on" } as never)).toMatchObject({
      inject: false,
      reason: "invalid-policy",
    });
  });
});

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
import {
  expectedObjects,
  expectedStatuses,
  peerCases,
  type PeerDocument,
  peerMesh,
  withoutPeerCases,
} from "./peer-cases.js";

const statuses = {
  BackendTLSPolicy: backendTlsPolicyStatus,
  XBackendTrafficPolicy: backendTrafficPolicyStatus,
  XBackend: backendStatus,
} as const;

const isPolicy = (kind: string): kind is keyof typeof statuses => kind in statuses;
const own = ["istio.io/gateway-controller", "istio.io/mesh-controller"];
const keyOf = ({ metadata: { namespace = "default", name } }: PeerDocument): string => `${namespace}/${name}`;

/** Returns a message without the names of a ConfigMap's other entries, which istiod does not read. */
const withoutEntries = (message: string): string => message.replace(/; found: .*/, "");

function comparable({ ancestors }: PolicyStatus): readonly unknown[] {
  return ancestors
    .filter(({ controllerName }) => own.includes(controllerName))
    .map(({ ancestorRef, controllerName, conditions }) => ({
      ancestorRef,
      controllerName,
      conditions: conditions.map(({ type, status, reason, message }) => ({
        type,
        status,
        reason,
        message: withoutEntries(message),
      })),
    }));
}

describe.each(peerCases.length === 0 ? [undefined] : peerCases)("policies of case %s", (name) => {
  test("statuses", ({ skip }) => {
    if (name === undefined) return skip(true, withoutPeerCases);
    const view = peerMesh(name).db.view(undefined);
    for (const document of expectedStatuses(name)) {
      if (!isPolicy(document.kind)) continue;
      const status = view.call(statuses[document.kind], keyOf(document));
      const expected = (document.status ?? { ancestors: [] }) as unknown as PolicyStatus;
      expect({ [keyOf(document)]: comparable(status ?? { ancestors: [] }) }).toEqual({
        [keyOf(document)]: comparable(expected),
      });
    }
  });

  // Istio accepts certificates of any name where a policy lists none: here the name must be the policy's hostname.
  const withNames = (spec: unknown): unknown => {
    if (Array.isArray(spec)) return spec.map(withNames);
    if (typeof spec !== "object" || spec === null) return spec;
    const own = Object.fromEntries(Object.entries(spec).map(([field, value]) => [field, withNames(value)]));
    return own["mode"] === "SIMPLE" && own["sni"] ? { subjectAltNames: [own["sni"]], ...own } : own;
  };

  test("derived DestinationRules", ({ skip }) => {
    if (name === undefined) return skip(true, withoutPeerCases);
    const view = peerMesh(name).db.view(undefined);
    const derived = view
      .call(backendPolicyHosts)
      .flatMap((host) => view.call(backendPolicyRules, host))
      .map(({ namespace, name: ruleName, annotations, spec }) => ({
        key: `${namespace}/${ruleName}`,
        annotations,
        spec: toJson(DestinationRuleSchema, spec),
      }));
    const expected = expectedObjects(name)
      .filter(({ kind }) => kind === "DestinationRule")
      .map((document) => ({
        key: keyOf(document),
        annotations: document.metadata.annotations ?? {},
        spec: withNames(document.spec),
      }));
    const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : 1);
    expect(derived.sort(byKey)).toEqual(expected.sort(byKey));
  });
});

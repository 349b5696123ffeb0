import { toJson } from "@bufbuild/protobuf";
import { gatewayApiGateways, gatewayStatus, listenerSetStatus } from "@istiod/gateway-api";
import { GatewaySchema } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { describe, expect, test } from "vitest";
import {
  expectedObjects,
  expectedStatuses,
  peerCases,
  type PeerDocument,
  peerMesh,
  withoutPeerCases,
} from "./peer-cases.js";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Listener {
  readonly name: string;
  readonly attachedRoutes: number;
  readonly supportedKinds: readonly unknown[];
  readonly conditions: readonly Condition[];
}

interface Status {
  readonly addresses?: readonly unknown[];
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly Listener[];
  readonly attachedListenerSets?: number;
}

/** Types of istiod's conditions. Others are those of other writers. */
const types = ["Accepted", "Programmed", "ResolvedRefs", "Conflicted", "InsecureFrontendValidationMode"];

/**
 * Returns a message up to what it says of the content of certificates, in the words of the library that reads them. The
 * suite's keys have 512 bits, which Envoy does not take.
 */
function withoutDetails(message: string): string {
  return message
    .replace(/(the (?:certificate|bundle) is malformed).*/s, "$1")
    .replace(/; proxies do not get the certificate of .*: the key has 512 bits, expected at least 2048$/, "");
}

function comparableConditions(conditions: readonly Condition[] = []): readonly string[] {
  return conditions
    .filter(({ type }) => types.includes(type))
    .map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${withoutDetails(message)}`)
    .sort();
}

function comparable({ addresses = [], conditions, listeners = [], attachedListenerSets = 0 }: Status): unknown {
  return {
    addresses,
    attachedListenerSets,
    conditions: comparableConditions(conditions),
    listeners: listeners.map(({ name, attachedRoutes, supportedKinds, conditions: own }) => ({
      name,
      attachedRoutes,
      supportedKinds,
      conditions: comparableConditions(own),
    })),
  };
}

const keyOf = ({ metadata: { namespace = "default", name } }: PeerDocument): string => `${namespace}/${name}`;

describe.each(peerCases.length === 0 ? [undefined] : peerCases)("Gateways of case %s", (name) => {
  test("statuses", ({ skip }) => {
    if (name === undefined) return skip(true, withoutPeerCases);
    const view = peerMesh(name).db.view(undefined);
    const documents = expectedStatuses(name).filter(({ kind }) => kind === "Gateway" || kind === "ListenerSet");
    for (const document of documents) {
      const status = view.call(document.kind === "Gateway" ? gatewayStatus : listenerSetStatus, keyOf(document));
      expect({ [keyOf(document)]: comparable(status ?? {}) }).toEqual({
        [keyOf(document)]: comparable((document.status ?? {}) as Status),
      });
    }
  });

  test("derived Gateways", ({ skip }) => {
    if (name === undefined) return skip(true, withoutPeerCases);
    const view = peerMesh(name).db.view(undefined);
    const derived = Object.values(view.call(gatewayApiGateways)).map(({ namespace, name: own, annotations, spec }) => ({
      key: `${namespace}/${own}`,
      annotations,
      spec: toJson(GatewaySchema, spec),
    }));
    const expected = expectedObjects(name)
      .filter(({ kind }) => kind === "Gateway")
      .map((document) => ({
        key: keyOf(document),
        annotations: document.metadata.annotations ?? {},
        spec: document.spec,
      }));
    const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : 1);
    expect(derived.sort(byKey)).toEqual(expected.sort(byKey));
  });
});

import { toJson } from "@bufbuild/protobuf";
import {
  gatewayApiVirtualService,
  gatewayApiVirtualServiceKeys,
  type RouteReference,
  routeStatus,
} from "@istiod/gateway-api";
import { VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { describe, expect, test } from "vitest";
import {
  expectedObjects,
  expectedStatuses,
  peerCases,
  type PeerDocument,
  peerMesh,
  withoutPeerCases,
} from "./peer-cases.js";

const routeKinds = ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"];

/** Types of istiod's conditions. Others are those of other writers. */
const types = ["Accepted", "ResolvedRefs"];

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

interface ParentStatus {
  readonly parentRef: unknown;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

/** Returns what is compared of a status, in an order of its own. */
function comparable(parents: readonly ParentStatus[]): readonly unknown[] {
  return parents
    .map(({ parentRef, controllerName, conditions }) => ({
      parentRef,
      controllerName,
      conditions: conditions
        .filter(({ type }) => types.includes(type))
        .map(({ type, status, reason }) => `${type}=${status} ${reason}`)
        .sort(),
    }))
    .sort((a, b) => (JSON.stringify(a.parentRef) < JSON.stringify(b.parentRef) ? -1 : 1));
}

interface HttpRule {
  readonly corsPolicy?: object;
}

/** Returns a VirtualService with the default of CORS policies that an API server would have set in the route. */
function withDefaultMaxAge(document: PeerDocument): PeerDocument {
  const http = document.spec?.["http"] as readonly HttpRule[] | undefined;
  if (http === undefined) return document;
  const rules = http.map(({ corsPolicy, ...rule }) =>
    corsPolicy === undefined ? rule : { ...rule, corsPolicy: { maxAge: "5s", ...corsPolicy } },
  );
  return { ...document, spec: { ...document.spec, http: rules } };
}

function byName(documents: readonly PeerDocument[]): readonly unknown[] {
  return documents
    .map(({ metadata, spec }) => ({
      key: `${metadata.namespace}/${metadata.name}`,
      annotations: metadata.annotations,
      spec: spec ?? {},
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

describe.each(peerCases.length === 0 ? [undefined] : peerCases)("case %s", (name) => {
  test("routes have the statuses of Istio", ({ skip }) => {
    if (name === undefined) return skip(true, withoutPeerCases);
    const mesh = peerMesh(name);
    const routes = expectedStatuses(name).filter(({ kind }) => routeKinds.includes(kind));
    const statuses = routes.map(({ kind, metadata }) => {
      const key = `${metadata.namespace}/${metadata.name}`;
      const status = mesh.db.view(undefined).call(routeStatus, { kind: kind as RouteReference["kind"], key });
      return { route: `${kind} ${key}`, parents: status && comparable(status.parents) };
    });
    expect(statuses).toEqual(
      routes.map(({ kind, metadata, status }) => ({
        route: `${kind} ${metadata.namespace}/${metadata.name}`,
        parents: comparable(
          (status?.["parents"] as readonly ParentStatus[]).filter(
            ({ controllerName }) => controllerName === "istio.io/gateway-controller",
          ),
        ),
      })),
    );
  });

  test("the VirtualServices of Istio are derived", ({ skip }) => {
    if (name === undefined) return skip(true, withoutPeerCases);
    const view = peerMesh(name).db.view(undefined);
    const derived = view.call(gatewayApiVirtualServiceKeys).map((key): PeerDocument => {
      const found = view.call(gatewayApiVirtualService, key);
      if (found === undefined) throw new Error(`no VirtualService ${key}`);
      const { namespace, name: own, annotations, spec } = found;
      return {
        apiVersion: "networking.istio.io/v1",
        kind: "VirtualService",
        metadata: { namespace, name: own, annotations },
        spec: toJson(VirtualServiceSchema, spec) as Readonly<Record<string, unknown>>,
      };
    });
    const expected = expectedObjects(name).filter(({ kind }) => kind === "VirtualService");
    expect(byName(derived)).toEqual(byName(expected.map(withDefaultMaxAge)));
  });
});

import type { ParentReference } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { features } from "../settings/features.js";
import { missingPort } from "./backends.js";
import { type ConvertedRules, convertedHttpRules } from "./conversion/http-rules.js";
import { convertedTcpRules, convertedTlsRules } from "./conversion/l4-rules.js";
import { hostsOverlap, isWildcard } from "./hostnames.js";
import { servedHttpParts } from "./http-parts.js";
import { meshHosts } from "./mesh-hosts.js";
import { isMeshParent, parentOrder } from "./parent.js";
import { routeBinding, type RouteReference } from "./route.js";
import { firstTcpRoute } from "./tcp-precedence.js";
import { type Denial, isIsolatedTo, type RouteAttachment, routeAttachments } from "./route-attachments.js";
import { condition, type StatusCondition, withNotes } from "../status/conditions.js";

/** The status of a route at one of its parents. */
export interface RouteParentStatus {
  /** The reference, as declared. */
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  /** Sorted by type. */
  readonly conditions: readonly StatusCondition[];
}

export interface RouteStatus {
  readonly parents: readonly RouteParentStatus[];
}

/**
 * The status of a route: one entry for each reference to a parent that istiod serves; undefined if there is no such
 * route. Entries of other controllers are not part of it. Source: `createRouteStatus` in
 * pilot/pkg/config/kube/gateway/conditions.go.
 */
export const routeStatus = query("gatewayApiRouteStatus", (q, route: RouteReference): RouteStatus | undefined => {
  const binding = q.call(routeBinding, route);
  if (binding === undefined) return undefined;
  const attachments = q.call(routeAttachments, route);
  const parents = binding.parentRefs
    .map((parentRef, i) => ({ parentRef, order: parentOrder(parentRef, binding.namespace), i }))
    .sort((a, b) => (a.order < b.order ? 1 : a.order > b.order ? -1 : a.i - b.i))
    .flatMap(({ parentRef, i }) => {
      const own = attachments.filter(({ index }) => index === i);
      return own.length === 0
        ? []
        : [statusAt(q, route, { parentRef, attachments: own, hostnames: binding.hostnames })];
    });
  return { parents };
});

interface ParentAttachments {
  readonly parentRef: ParentReference;
  readonly attachments: readonly RouteAttachment[];
  readonly hostnames: readonly string[];
}

function statusAt(q: QueryContext, route: RouteReference, at: ParentAttachments): RouteParentStatus {
  const { parentRef, attachments } = at;
  const inMesh = attachments.some(({ parent }) => isMeshParent(parent));
  const conditions: StatusCondition[] = [acceptedCondition(q, route, at), refsCondition(rulesOf(q, route, inMesh))];
  if (features.ambient(q)) {
    const [{ waypointProblem } = {}] = attachments;
    const message = waypointProblem ?? "All waypoints resolved";
    conditions.push({ type: "ResolvedWaypoints", status: "True", reason: "ResolvedWaypoints", message });
  }
  return { parentRef, controllerName: features.controllerName(q), conditions };
}

function rulesOf(q: QueryContext, { kind, key }: RouteReference, inMesh: boolean): ConvertedRules<unknown> {
  if (kind === "TCPRoute") return q.call(convertedTcpRules, { key, inMesh });
  if (kind === "TLSRoute") return q.call(convertedTlsRules, { key, inMesh });
  return q.call(convertedHttpRules, { kind, key, inMesh });
}

/** Returns the condition ResolvedRefs, with notes on what resolves and has no effect. */
function refsCondition({ problem, notes }: ConvertedRules<unknown>): StatusCondition {
  const holds = { reason: "ResolvedRefs", message: "All references resolved" };
  return withNotes(condition("ResolvedRefs", holds, problem), notes);
}

/** The reasons of denials, the one that is reported first. */
const denialOrder: readonly Denial["reason"][] = [
  "NotAllowedByListeners",
  "NoMatchingListenerHostname",
  "NoMatchingParent",
];

/** Returns the condition Accepted: true if any listener accepts the route, else with the first reason. */
function acceptedCondition(
  q: QueryContext,
  route: RouteReference,
  { attachments, hostnames }: ParentAttachments,
): StatusCondition {
  const accepting = attachments.filter(({ denied }) => denied === undefined);
  if (accepting.length > 0) {
    const valid = accepting.length > 1 ? `Route was valid, bound to ${accepting.length} parents` : "Route was valid";
    const notes = [
      ...notesOnHosts(route, accepting, hostnames),
      ...notesOnWildcards(q, route, accepting),
      ...notesOnPort(q, accepting),
      ...notesOnPrecedence(q, route, accepting),
      ...notesOnBounds(q, route),
    ];
    return withNotes({ type: "Accepted", status: "True", reason: "Accepted", message: valid }, notes);
  }
  const denials = attachments.flatMap(({ denied }) => denied ?? []);
  const reason = denialOrder.find((candidate) => denials.some((denial) => denial.reason === candidate));
  const messages = denials.filter((denial) => denial.reason === reason).map(({ message }) => message);
  return { type: "Accepted", status: "False", reason: reason ?? "NoMatchingParent", message: messages.join("; ") };
}

/** Returns notes on hostnames without effect, although the route is accepted. */
function notesOnHosts(
  { kind }: RouteReference,
  accepting: readonly RouteAttachment[],
  hostnames: readonly string[],
): readonly string[] {
  if (accepting.some(({ parent }) => isMeshParent(parent)))
    return kind === "TLSRoute" || hostnames.length === 0
      ? []
      : ["hostnames have no effect on parents in the mesh, whose own hosts apply"];
  const unserved = hostnames.filter(
    (host) =>
      !accepting.some(
        (attachment) =>
          (attachment.hostname === "" || hostsOverlap(attachment.hostname, host)) && isIsolatedTo(attachment, host),
      ),
  );
  return unserved.length === 0 ? [] : [`no effect on ${unserved.join(", ")}, which no listener of the parent has`];
}

/** Returns a note on wildcard hosts of a ServiceEntry, which sidecars do not route by the Gateway API. */
function notesOnWildcards(
  q: QueryContext,
  { kind }: RouteReference,
  accepting: readonly RouteAttachment[],
): readonly string[] {
  if (kind !== "HTTPRoute" && kind !== "GRPCRoute") return [];
  return accepting.flatMap(({ parent }) => {
    const hosts = isMeshParent(parent) ? q.call(meshHosts, parent).filter(isWildcard) : [];
    return hosts.length === 0 ? [] : [`no effect on ${hosts.join(", ")}: sidecars do not route hosts with wildcards`];
  });
}

/** Returns a note on a port that the Service a route attaches to does not have. */
function notesOnPort(q: QueryContext, accepting: readonly RouteAttachment[]): readonly string[] {
  return accepting.flatMap(({ parent, parentRef }) =>
    parent.kind === "Service" ? (missingPort(q, parent, parentRef.port) ?? []) : [],
  );
}

/** Returns notes on listeners whose connections another TCPRoute has. */
function notesOnPrecedence(
  q: QueryContext,
  { kind, key }: RouteReference,
  accepting: readonly RouteAttachment[],
): readonly string[] {
  if (kind !== "TCPRoute") return [];
  return accepting.flatMap(({ parent, sectionName }) => {
    if (parent.kind !== "Gateway" && parent.kind !== "ListenerSet") return [];
    const first = q.call(firstTcpRoute, { parent: { ...parent, kind: parent.kind }, sectionName });
    return first === undefined || first === key
      ? []
      : [`no effect on listener ${sectionName}, whose connections TCPRoute ${first} has, which takes precedence`];
  });
}

/** Returns a note on hosts at listeners, or objects of the mesh, that are beyond what a route may multiply to. */
function notesOnBounds(q: QueryContext, route: RouteReference): readonly string[] {
  if (route.kind !== "HTTPRoute" && route.kind !== "GRPCRoute") return [];
  const { parts, reason } = q.call(servedHttpParts, route);
  return reason === undefined ? [] : [`no effect on hosts of listeners after the first ${parts.length}: ${reason}`];
}

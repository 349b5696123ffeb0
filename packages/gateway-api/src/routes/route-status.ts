import type { ParentReference } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { features } from "../settings/features.js";
import { convertedHttpRules } from "./conversion/http-rules.js";
import { convertedTcpRules, convertedTlsRules } from "./conversion/l4-rules.js";
import { hostsOverlap } from "./hostnames.js";
import { isMeshParent, parentOrder } from "./parent.js";
import { routeBinding, type RouteReference } from "./route.js";
import { type Denial, isIsolatedTo, type RouteAttachment, routeAttachments } from "./route-attachments.js";
import type { RouteProblem } from "./route-problem.js";
import type { StatusCondition } from "../status/conditions.js";

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
  const conditions: StatusCondition[] = [acceptedCondition(at), refsCondition(problemOf(q, route, inMesh))];
  if (features.ambient(q)) {
    const [{ waypointProblem } = {}] = attachments;
    const message = waypointProblem ?? "All waypoints resolved";
    conditions.push({ type: "ResolvedWaypoints", status: "True", reason: "ResolvedWaypoints", message });
  }
  return { parentRef, controllerName: features.controllerName(q), conditions };
}

/** Returns the problem of a route's rules. */
function problemOf(q: QueryContext, { kind, key }: RouteReference, inMesh: boolean): RouteProblem | undefined {
  if (kind === "TCPRoute") return q.call(convertedTcpRules, { key, inMesh }).problem;
  if (kind === "TLSRoute") return q.call(convertedTlsRules, { key, inMesh }).problem;
  return q.call(convertedHttpRules, { kind, key, inMesh }).problem;
}

function refsCondition(problem: RouteProblem | undefined): StatusCondition {
  return problem === undefined
    ? { type: "ResolvedRefs", status: "True", reason: "ResolvedRefs", message: "All references resolved" }
    : { type: "ResolvedRefs", status: "False", ...problem };
}

/** The reasons of denials, the one that is reported first. */
const denialOrder: readonly Denial["reason"][] = [
  "NotAllowedByListeners",
  "NoMatchingListenerHostname",
  "NoMatchingParent",
];

/** Returns the condition Accepted: true if any listener accepts the route, else with the first reason. */
function acceptedCondition({ attachments, hostnames }: ParentAttachments): StatusCondition {
  const accepting = attachments.filter(({ denied }) => denied === undefined);
  if (accepting.length > 0) {
    const valid = accepting.length > 1 ? `Route was valid, bound to ${accepting.length} parents` : "Route was valid";
    const message = [valid, ...noteOnHosts(accepting, hostnames)].join("; ");
    return { type: "Accepted", status: "True", reason: "Accepted", message };
  }
  const denials = attachments.flatMap(({ denied }) => denied ?? []);
  const reason = denialOrder.find((candidate) => denials.some((denial) => denial.reason === candidate));
  const messages = denials.filter((denial) => denial.reason === reason).map(({ message }) => message);
  return { type: "Accepted", status: "False", reason: reason ?? "NoMatchingParent", message: messages.join("; ") };
}

/** Returns a note on hostnames that no listener serves, although the route is accepted. */
function noteOnHosts(accepting: readonly RouteAttachment[], hostnames: readonly string[]): readonly string[] {
  if (accepting.some(({ parent }) => isMeshParent(parent))) return [];
  const unserved = hostnames.filter(
    (host) =>
      !accepting.some(
        (attachment) =>
          (attachment.hostname === "" || hostsOverlap(attachment.hostname, host)) && isIsolatedTo(attachment, host),
      ),
  );
  return unserved.length === 0 ? [] : [`no effect on ${unserved.join(", ")}, which no listener of the parent has`];
}

import type { ParentReference } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { attachableListeners } from "../gateways/derived-gateways.js";
import type { AttachableListener } from "../listeners/attachable-listener.js";
import { features } from "../settings/features.js";
import { hostsOverlap, isSubsetOf, isWildcard } from "./hostnames.js";
import { isMeshParent, parentOf, parentOrder, type RouteParent } from "./parent.js";
import { type RouteBinding, routeBinding, type RouteReference } from "./route.js";
import { hasForeignWaypoint, lacksWaypoint, meshParentLabels } from "./waypoints.js";
import { compareTexts, gatewayApiGroup } from "../names.js";

/** The reason why a route is not attached to a listener or an object of the mesh. */
export interface Denial {
  readonly reason: "NoMatchingParent" | "NotAllowedByListeners" | "NoMatchingListenerHostname";
  readonly message: string;
}

/** A listener, or an object of the mesh, that a reference of a route names. */
export interface RouteAttachment {
  readonly parent: RouteParent;
  /** The reference, as declared, and its index among those of the route. */
  readonly parentRef: ParentReference;
  readonly index: number;
  /** `mesh`, or key (`namespace/name`) of the Istio Gateway that stands for the listener. */
  readonly gateway: string;
  /** Name of the listener; empty for the mesh. */
  readonly sectionName: string;
  /** Hostname of the listener; empty for all hosts and for the mesh. */
  readonly hostname: string;
  /** Hostnames of other listeners of the parent with the same port and protocol. */
  readonly otherHostnames: readonly string[];
  /** Absent if the route is attached. */
  readonly denied?: Denial;
  /** Set if clients in ambient mode do not apply the route, with the reason. */
  readonly waypointProblem?: string;
}

export const meshGateway = "mesh";

/**
 * The listeners and objects of the mesh that the references of a route name, in Istio's order, with the reason if the
 * route is not attached. References to kinds of other controllers are left out, as are those to Gateways that istiod
 * does not serve. Source: `extractParentReferenceInfo` in pilot/pkg/config/kube/gateway/conversion.go.
 */
export const routeAttachments = query(
  "gatewayApiRouteAttachments",
  (q, route: RouteReference): readonly RouteAttachment[] => {
    const binding = q.call(routeBinding, route);
    if (binding === undefined || !features.enabled(q)) return [];
    return binding.parentRefs
      .flatMap((parentRef, index) => {
        const parent = parentOf(parentRef, binding.namespace);
        if (parent === undefined) return [];
        return isMeshParent(parent)
          ? meshAttachment(q, { parent, parentRef, index })
          : listenerAttachments(q, { route, binding, parent, parentRef, index });
      })
      .map((attachment) => ({ attachment, order: parentOrder(attachment.parentRef, binding.namespace) }))
      .sort((a, b) => compareTexts(a.order, b.order))
      .map(({ attachment }) => attachment);
  },
);

function meshAttachment(
  q: QueryContext,
  reference: Pick<RouteAttachment, "parent" | "parentRef" | "index">,
): readonly RouteAttachment[] {
  const { parent } = reference;
  if (q.call(hasForeignWaypoint, parent)) return [];
  const base = { ...reference, gateway: meshGateway, sectionName: "", hostname: "", otherHostnames: [] };
  const labels = q.call(meshParentLabels, parent);
  if (labels === undefined) {
    const kind = parent.kind === "Service" ? "service" : "service entry";
    const message = `parent ${kind}: "${parent.name}" not found`;
    return [{ ...base, denied: { reason: "NoMatchingParent", message }, waypointProblem: "parent not found" }];
  }
  return [lacksWaypoint(q, parent, labels) ? { ...base, waypointProblem: missingWaypoint } : base];
}

const missingWaypoint =
  "istio.io/use-waypoint label missing from parent and parent namespace; in ambient mode, route will not be respected";

interface ListenerReference {
  readonly route: RouteReference;
  readonly binding: RouteBinding;
  readonly parent: RouteParent;
  readonly parentRef: ParentReference;
  readonly index: number;
}

function listenerAttachments(q: QueryContext, reference: ListenerReference): readonly RouteAttachment[] {
  const { parent, parentRef, index } = reference;
  const { kind, namespace, name } = parent;
  if (kind !== "Gateway" && kind !== "ListenerSet") return [];
  const listeners = q.call(attachableListeners, { kind, namespace, name }) ?? [];
  return listeners.map((listener) => {
    const denied = denialOf(listener, reference);
    return {
      parent,
      parentRef,
      index,
      gateway: listener.gateway,
      sectionName: listener.sectionName,
      hostname: listener.hostname,
      otherHostnames: otherHostnames(listener, listeners),
      ...(denied !== undefined && { denied }),
    };
  });
}

function otherHostnames(own: AttachableListener, listeners: readonly AttachableListener[]): readonly string[] {
  const others = listeners.filter(
    ({ port, protocol, hostname }) => port === own.port && protocol === own.protocol && hostname !== own.hostname,
  );
  return [...new Set(others.map(({ hostname }) => hostname))];
}

/** Returns the reason why a listener does not accept a route; undefined if it does. */
function denialOf(
  listener: AttachableListener,
  { route, binding: { namespace, hostnames }, parentRef: { port, sectionName } }: ListenerReference,
): Denial | undefined {
  if (port !== undefined && port !== listener.port)
    return { reason: "NoMatchingParent", message: `port ${port} not found` };
  if (sectionName !== undefined && sectionName !== listener.sectionName)
    return { reason: "NoMatchingParent", message: `sectionName "${sectionName}" not found` };
  const matching = listener.hosts
    .map(splitHost)
    .filter(({ host }) => allWhenEmpty(hostnames).some((own) => hostsOverlap(host, own)));
  if (listener.hosts.length > 0 && !matching.some((host) => host.namespace === "*" || host.namespace === namespace)) {
    return matching.length > 0
      ? {
          reason: "NotAllowedByListeners",
          message: `hostnames matched parent hostname "${listener.hostname}", but namespace "${namespace}" is not allowed by the parent`,
        }
      : {
          reason: "NoMatchingListenerHostname",
          message: `no hostnames matched parent hostname "${listener.hostname}"`,
        };
  }
  const isKindAllowed = listener.allowedKinds.some(
    ({ group, kind }) => group === gatewayApiGroup && kind === route.kind,
  );
  return isKindAllowed ? undefined : { reason: "NotAllowedByListeners", message: `kind ${route.kind} is not allowed` };
}

function splitHost(host: string): { readonly namespace: string; readonly host: string } {
  const slash = host.indexOf("/");
  return slash < 0 ? { namespace: "*", host } : { namespace: host.slice(0, slash), host: host.slice(slash + 1) };
}

/** Returns the hosts that hostnames of a route stand for: `*` if it has none. */
export function allWhenEmpty(hostnames: readonly string[]): readonly string[] {
  return hostnames.length === 0 ? ["*"] : hostnames;
}

/** Returns the attachments of a route that are not denied, sorted by their Istio Gateway. */
export function acceptedAttachments(attachments: readonly RouteAttachment[]): readonly RouteAttachment[] {
  return attachments.filter(({ denied }) => denied === undefined).sort((a, b) => compareTexts(a.gateway, b.gateway));
}

/**
 * Reports whether a host of a route belongs to a listener, and not to another one with the same port and protocol and a
 * more specific hostname. Source: `hostnameAllowedByIsolation`.
 */
export function isIsolatedTo({ hostname, otherHostnames }: RouteAttachment, host: string): boolean {
  if (hostname !== "" && !isWildcard(hostname)) return true;
  if (hostname !== "" && !hostsOverlap(host, hostname)) return false;
  return !otherHostnames.some((other) => hostname.length <= other.length && isSubsetOf(host, other));
}

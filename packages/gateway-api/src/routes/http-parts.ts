import { grpcRoutes, httpRoutes, repeatedRules } from "@istiod/config-schema";
import { isOutOfStack, query, type QueryContext } from "@istiod/incremental";
import { convertedHttpRules } from "./conversion/http-rules.js";
import { meshHosts } from "./mesh-hosts.js";
import { features } from "../settings/features.js";
import { isMeshParent } from "./parent.js";
import { routeBinding, type RouteReference } from "./route.js";
import {
  acceptedAttachments,
  allWhenEmpty,
  isIsolatedTo,
  type RouteAttachment,
  routeAttachments,
} from "./route-attachments.js";
import { compareTexts, gatewayApiSuffix } from "../names.js";

/** The part that an HTTPRoute or GRPCRoute has in the VirtualService of one host at one gateway. */
export interface HttpPart {
  readonly route: RouteReference;
  readonly namespace: string;
  readonly creationTimestamp: number;
  /** Name that distinguishes the part from others of the namespace, by which Istio orders them. */
  readonly name: string;
  /** Name of the VirtualService. Parts with the same name are merged. */
  readonly virtualService: string;
  /** `mesh` or `namespace/name`. */
  readonly gateway: string;
  readonly host: string;
  /** Port of a service of the mesh; absent if the route applies to all. */
  readonly port?: number;
}

/** The parts of a route that are served. */
interface ServedParts {
  readonly parts: readonly HttpPart[];
  /** The numbers and the variable that raises the bound; absent if all parts are served. */
  readonly reason?: string;
}

/**
 * The parts of a route in VirtualServices: one for each host at each gateway, or for each host of an object of the
 * mesh. Source: pilot/pkg/config/kube/gateway/route_collections.go. Each part repeats the rules of the route. Neither
 * the route nor its parents are wrong by themselves: the first parts within the bounds are served.
 */
export const servedHttpParts = query("gatewayApiHttpParts", (q, route: RouteReference): ServedParts => {
  const binding = q.call(routeBinding, route);
  if (binding === undefined) return { parts: [] };
  const { namespace, creationTimestamp, hostnames } = binding;
  const parts: HttpPart[] = [];
  const bound = q.call(mostParts, route);
  for (const attachment of acceptedAttachments(q.call(routeAttachments, route))) {
    const inMesh = isMeshParent(attachment.parent);
    if (!q.call(hasHttpRules, { ...route, inMesh })) continue;
    for (const host of inMesh ? q.call(meshHosts, attachment.parent) : allWhenEmpty(hostnames)) {
      if (!isIsolatedTo(attachment, host)) continue;
      if (parts.length === bound.count) return { parts, reason: bound.reason };
      parts.push({
        route,
        namespace,
        creationTimestamp,
        name: `${binding.name}~${parts.length}~${gatewayApiSuffix}`,
        virtualService: [...prefixOf(attachment, namespace), host].join("~"),
        gateway: attachment.gateway,
        host,
        ...(inMesh && attachment.parentRef.port !== undefined && { port: attachment.parentRef.port }),
      });
    }
  }
  return { parts };
});

/** Returns the parts of a route that are served: none if its rules cannot be read, so that others are not affected. */
export function httpParts(q: QueryContext, route: RouteReference): readonly HttpPart[] {
  try {
    return q.call(servedHttpParts, route).parts;
  } catch (error) {
    if (isOutOfStack(error)) throw error;
    return [];
  }
}

/** The number of parts that a route can have within the bounds, and the bound that it reaches first. */
const mostParts = query(
  "gatewayApiMostHttpParts",
  (q, { kind, key }: RouteReference): { readonly count: number; readonly reason: string } => {
    const object = kind === "HTTPRoute" ? q.read(httpRoutes, key) : q.read(grpcRoutes, key);
    const { matches, bytes } = repeatedRules(object?.spec.rules ?? []);
    const { maxRoutes, maxBytes } = features;
    const byRoutes = Math.max(1, Math.floor(maxRoutes(q) / Math.max(1, matches)));
    const byBytes = Math.max(1, Math.floor(maxBytes(q) / Math.max(1, bytes)));
    return byRoutes <= byBytes
      ? {
          count: byRoutes,
          reason: `${matches} matches of rules at each, of at most ${maxRoutes(q)} in all (${maxRoutes.variable})`,
        }
      : {
          count: byBytes,
          reason: `${bytes} bytes of rules at each, of at most ${maxBytes(q)} in all (${maxBytes.variable})`,
        };
  },
);

/** Reports whether any rule of a route can be applied. */
const hasHttpRules = query(
  "gatewayApiHasHttpRules",
  (q: QueryContext, of: RouteReference & { readonly inMesh: boolean }): boolean =>
    q.call(convertedHttpRules, of).routes.length > 0,
);

/**
 * Returns the parts of a VirtualService's name before its host: those of the gateway, or in the mesh the namespace of
 * the route, to whose clients it may be limited, and the port.
 */
function prefixOf({ parent, parentRef, gateway }: RouteAttachment, routeNamespace: string): readonly string[] {
  if (!isMeshParent(parent)) return gateway.split("/");
  return parentRef.port === undefined ? [routeNamespace] : [routeNamespace, String(parentRef.port)];
}

/** Orders parts by age, namespace and name: the first one takes precedence. */
export function byAge(a: HttpPart, b: HttpPart): number {
  return (
    a.creationTimestamp - b.creationTimestamp || compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name)
  );
}

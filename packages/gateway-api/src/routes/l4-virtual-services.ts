import { create } from "@bufbuild/protobuf";
import type { VirtualServiceObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { type VirtualService, VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { tcpRoutesAtPort, tlsRoutesForMesh, tlsRoutesOfListener } from "./conversion/constrained-routes.js";
import { convertedTcpRules, convertedTlsRules } from "./conversion/l4-rules.js";
import { derivedAnnotations, derivedVirtualService } from "./derived-virtual-service.js";
import { intersectHosts, isSubsetOf } from "./hostnames.js";
import { meshHosts } from "./mesh-hosts.js";
import { isMeshParent } from "./parent.js";
import { routeBinding, type RouteReference } from "./route.js";
import { acceptedAttachments, allWhenEmpty, type RouteAttachment, routeAttachments } from "./route-attachments.js";
import { gatewayApiSuffix } from "../names.js";

/** One host of a TCPRoute or TLSRoute at one gateway. */
interface L4Part {
  /** Name of the VirtualService. */
  readonly name: string;
  readonly attachment: RouteAttachment;
  readonly host: string;
  /** All hosts of the route at the gateway. */
  readonly hosts: readonly string[];
}

/** The parts of a TCPRoute or TLSRoute, each of which is a VirtualService. */
const l4Parts = query("gatewayApiL4Parts", (q, route: RouteReference): readonly L4Part[] => {
  const binding = q.call(routeBinding, route);
  if (binding === undefined) return [];
  const protocol = protocolOf(route);
  const parts: L4Part[] = [];
  for (const attachment of acceptedAttachments(q.call(routeAttachments, route))) {
    const hosts = hostsAt(q, route, attachment, binding.hostnames);
    for (const host of hosts)
      parts.push({
        name: `${binding.name}~${protocol}~${parts.length}~${gatewayApiSuffix}`,
        attachment,
        host,
        hosts,
      });
  }
  return parts;
});

function protocolOf({ kind }: RouteReference): "tcp" | "tls" {
  return kind === "TCPRoute" ? "tcp" : "tls";
}

/**
 * Returns the hosts of a route at a gateway. Those of a TLSRoute are within the hostname of the listener. A TCPRoute
 * has none, and all connections to the listener.
 */
function hostsAt(
  q: QueryContext,
  { kind }: RouteReference,
  { parent, hostname }: RouteAttachment,
  hostnames: readonly string[],
): readonly string[] {
  if (isMeshParent(parent)) return q.call(meshHosts, parent);
  const hosts = allWhenEmpty(hostnames);
  return kind === "TCPRoute" || hostname === "" ? hosts : intersectHosts(hosts, [hostname]);
}

/** Names of the VirtualServices that stand for a TCPRoute or TLSRoute. They are in its namespace. */
export const l4VirtualServiceNames = query("gatewayApiL4VirtualServiceNames", (q, route: RouteReference) =>
  q.call(l4Parts, route).map(({ name }) => name),
);

/** The VirtualService of this name that stands for a TCPRoute or TLSRoute; undefined if there is none. */
export const l4VirtualService = query(
  "gatewayApiL4VirtualService",
  (q, { namespace, name }: { readonly namespace: string; readonly name: string }): VirtualServiceObject | undefined => {
    const [routeName, protocol, , suffix] = name.split("~");
    if (suffix !== gatewayApiSuffix || (protocol !== "tcp" && protocol !== "tls")) return undefined;
    const route: RouteReference = {
      kind: protocol === "tcp" ? "TCPRoute" : "TLSRoute",
      key: `${namespace}/${routeName}`,
    };
    const part = q.call(l4Parts, route).find((candidate) => candidate.name === name);
    if (part === undefined) return undefined;
    return derivedVirtualService(q, {
      namespace,
      name,
      creationTimestamp: q.call(routeBinding, route)?.creationTimestamp ?? 0,
      annotations: derivedAnnotations([route]),
      spec: protocol === "tcp" ? tcpSpec(q, route.key, part) : tlsSpec(q, route.key, part),
    });
  },
);

/**
 * The most specific hostname of a TLSRoute that includes the host of a VirtualService (`namespace/name`) that stands
 * for it; undefined if the VirtualService does not stand for a TLSRoute at a gateway. A listener with a hostname may
 * leave less of it.
 */
export const tlsRouteHostname = query("gatewayApiTlsRouteHostname", (q, key: string): string | undefined => {
  const [namespace, name = ""] = key.split("/");
  const [routeName, protocol] = name.split("~");
  const route: RouteReference = { kind: "TLSRoute", key: `${namespace}/${routeName}` };
  const part = protocol === "tls" ? q.call(l4Parts, route).find((candidate) => candidate.name === name) : undefined;
  if (part === undefined || isMeshParent(part.attachment.parent)) return undefined;
  const hostnames = q.call(routeBinding, route)?.hostnames ?? [];
  // An exact name is its own hostname; of several wildcards the longest is the most specific.
  const including = allWhenEmpty(hostnames).filter((hostname) => isSubsetOf(part.host, hostname));
  return including.toSorted((a, b) => b.length - a.length)[0];
});

function tcpSpec(q: QueryContext, key: string, { attachment, host }: L4Part): VirtualService {
  const inMesh = isMeshParent(attachment.parent);
  const { routes } = q.call(convertedTcpRules, { key, inMesh });
  const { port } = attachment.parentRef;
  const tcp = inMesh && port !== undefined ? tcpRoutesAtPort(routes, port) : routes;
  return create(VirtualServiceSchema, { hosts: [host], gateways: [attachment.gateway], tcp: [...tcp] });
}

function tlsSpec(q: QueryContext, key: string, { attachment, host, hosts }: L4Part): VirtualService {
  const { parent, parentRef, hostname, gateway } = attachment;
  const inMesh = isMeshParent(parent);
  const { routes } = q.call(convertedTlsRules, { key, inMesh });
  const tls = inMesh
    ? tlsRoutesForMesh(routes, { host, hosts, port: parentRef.port })
    : hostname === ""
      ? routes
      : tlsRoutesOfListener(routes, hostname);
  return create(VirtualServiceSchema, { hosts: [host], gateways: [gateway], tls: [...tls] });
}

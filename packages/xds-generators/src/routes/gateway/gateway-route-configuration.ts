import { createHash } from "node:crypto";
import { VirtualHost_TlsRequirementType as TlsRequirement } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import { isProxylessGrpc, routeDeclarations, serversOfRoute } from "@istiod/push-context";
import { type Failure, type Resource, type ResourcePart, resourcePart } from "@istiod/resources";
import { attempt } from "../../attempt.js";
import { failedVirtualHosts } from "../../failed-services.js";
import {
  maxDirectResponseBytes,
  newRouteConfiguration,
  routeConfigurationOfParts,
  withFailures,
} from "../route-configuration.js";
import { sessionConfig, statefulSessionFilter } from "../route/stateful-session.js";
import { splitByName } from "../sidecar/virtual-host-chunks.js";
import { type EncodedRoutes, virtualServiceRoutes } from "../route/virtual-service-routes.js";
import { encodeVirtualHost, includesAttemptCount, virtualHostParts } from "../virtual-host.js";
import { misdirectedHosts, misdirectedVirtualHosts } from "./misdirected-requests.js";
import { type GatewayVirtualHost, gatewayVirtualHosts } from "./gateway-virtual-hosts.js";

/**
 * The route configuration of a gateway by name. If its servers have no virtual hosts, every request gets 404. If the
 * servers are gone (draining listeners may still request it), it has no virtual hosts.
 */
export const gatewayRouteConfiguration = query("gatewayRouteConfiguration", (q, name: string): Resource => {
  const hosts = q.call(gatewayVirtualHosts, name);
  const [server] = q.call(serversOfRoute, name) ?? [];
  if (hosts === undefined || server === undefined) {
    return newRouteConfiguration({ name }, []);
  }
  const misdirected = q.call(misdirectedHosts, name);
  const port = server.port.number;
  const virtualHosts =
    hosts.length === 0 && misdirected === undefined
      ? [resourcePart(encodeVirtualHost({ name: `blackhole:${port}`, domains: ["*"] }))]
      : [
          ...q.call(gatewayChunks, name).flatMap((chunk) => q.call(gatewayChunk, chunk)),
          ...(misdirected === undefined ? [] : [resourcePart(misdirectedVirtualHosts(misdirected, port, hosts))]),
        ];
  const configuration = routeConfigurationOfParts(
    { name, ignorePortInHostMatching: !q.ask(isProxylessGrpc), maxDirectResponseBodySizeBytes: maxDirectResponseBytes },
    virtualHosts,
  );
  return withFailures(configuration, q.call(failedVirtualHosts, name));
});

/** Consecutive virtual hosts of a gateway, of which a changed route rebuilds one chunk. */
interface GatewayChunk {
  readonly hosts: readonly GatewayVirtualHost[];
  /** Equal only for equal hosts. */
  readonly key: string;
}

const gatewayChunks = query("gatewayVirtualHostChunks", (q, name: string): readonly GatewayChunk[] =>
  splitByName(q.call(gatewayVirtualHosts, name) ?? []).map((hosts) => ({ hosts, key: hash(JSON.stringify(hosts)) })),
);

const gatewayChunk = query(
  "gatewayVirtualHostChunk",
  (q, { hosts }: GatewayChunk): readonly ResourcePart[] => {
    const failures: Failure[] = [];
    const parts: ResourcePart[] = [];
    let open: Uint8Array[] = [];
    for (const host of hosts) {
      const encoded = attemptHost(q, host, failures) ?? [];
      if (encoded instanceof Uint8Array) {
        open.push(encoded);
        continue;
      }
      if (open.length > 0) parts.push(resourcePart(open));
      open = [];
      for (const part of encoded) parts.push(part);
    }
    if (open.length + failures.length > 0) parts.push(resourcePart(open, failures));
    return parts;
  },
  { key: ({ key }) => key },
);

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

function attemptHost(q: QueryContext, host: GatewayVirtualHost, failures: Failure[]): EncodedHost | undefined {
  return attempt(
    () => q.call(gatewayVirtualHost, host),
    failures,
    () => ({
      name: "",
      part: { name: host.name },
      objects: [...new Set(host.tiers.flat().flatMap((each) => q.call(routeDeclarations, each.virtualService)))],
    }),
  );
}

/** A catch-all route of a gateway that is never reached because another one precedes it. */
export interface UnreachableRoute {
  readonly host: string;
  readonly port: number;
  /** The VirtualService whose route precedes it. */
  readonly shadowedBy: string;
  readonly virtualService: string;
}

/**
 * Unreachable catch-all routes of the route configuration with this name: of several for one host, only the first is
 * reached.
 */
export const unreachableRoutes = query("unreachableRoutes", (q, name: string): readonly UnreachableRoute[] =>
  (q.call(gatewayVirtualHosts, name) ?? []).flatMap(({ domains: [host = ""], tiers }) => {
    const catchAlls = tiers
      .flat()
      .filter((request) => q.call(virtualServiceRoutes, request).some(({ catchAll }) => catchAll));
    const shadowedBy = catchAlls[0]?.virtualService ?? "";
    const unreachable = new Map(
      catchAlls
        .filter(({ virtualService }) => virtualService !== shadowedBy)
        .map((request) => [request.virtualService, request]),
    );
    return [...unreachable.values()].map(({ virtualService, port }) => ({ host, port, shadowedBy, virtualService }));
  }),
);

/** An element of a route configuration's virtual hosts; parts of it if it has many routes. */
type EncodedHost = Uint8Array | readonly ResourcePart[];

/** A virtual host of a gateway, encoded. */
const gatewayVirtualHost = query(
  "gatewayVirtualHost",
  (q, { name, domains, tiers, requiresTls, session }: GatewayVirtualHost): EncodedHost => {
    const head = {
      name,
      domains: [...domains],
      includeRequestAttemptCount: includesAttemptCount(q),
      requireTls: requiresTls ? TlsRequirement.ALL : TlsRequirement.NONE,
      typedPerFilterConfig: session === undefined ? {} : { [statefulSessionFilter]: sessionConfig(session) },
    };
    const routes = tiers.flatMap((tier) =>
      catchAllsLast(tier.flatMap((request) => q.call(virtualServiceRoutes, request))),
    );
    return routes.some(({ part }) => part !== undefined)
      ? virtualHostParts(head, routes)
      : encodeVirtualHost(
          head,
          routes.map(({ bytes }) => bytes),
        );
  },
);

/** Moves catch-all routes to the end, since those of one VirtualService would hide routes of the next. */
function catchAllsLast(routes: readonly EncodedRoutes[]): readonly EncodedRoutes[] {
  return [...routes.filter(({ catchAll }) => !catchAll), ...routes.filter(({ catchAll }) => catchAll)];
}

import { create } from "@bufbuild/protobuf";
import { type Route, RouteSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import { type OutboundTraffic, outboundTraffic, proxyConfig, scopeKey, type ScopeRef } from "@istiod/push-context";
import {
  allowAnyDynamicDnsCluster,
  allowAnyDynamicDnsRoute,
  allowAnyRoute,
  blockAllRoute,
  passthroughCluster,
} from "../resource-names.js";
import { passthroughRoute } from "./route/default-route.js";
import { destinationCluster } from "./route/destinations.js";
import { anyRequest } from "./route/route-match.js";
import { encodeVirtualHost, includesAttemptCount } from "./virtual-host.js";

/** The virtual host for hosts that the scope does not know, encoded: requests are forwarded, or answered with 502. */
export const catchAllVirtualHost = query(
  "catchAllVirtualHost",
  (q, scope: ScopeRef): Uint8Array => {
    const route = catchAllRoute(q, q.call(outboundTraffic, scope));
    return encodeVirtualHost({
      name: route.name,
      domains: ["*"],
      routes: [route],
      includeRequestAttemptCount: includesAttemptCount(q),
    });
  },
  { key: scopeKey },
);

function catchAllRoute(q: QueryContext, { mode, egressProxy }: OutboundTraffic): Route {
  const appendsHost = mode !== "REGISTRY_ONLY" && proxyConfig(q, "proxyHeaders")?.xForwardedHost?.enabled === true;
  switch (mode) {
    case "ALLOW_ANY":
      return passthroughRoute(
        allowAnyRoute,
        egressProxy === undefined ? passthroughCluster : destinationCluster(egressProxy, undefined, 0),
        appendsHost,
      );
    case "ALLOW_ANY_DYNAMIC_DNS":
      return passthroughRoute(allowAnyDynamicDnsRoute, allowAnyDynamicDnsCluster, appendsHost);
    case "REGISTRY_ONLY":
      return create(RouteSchema, {
        name: blockAllRoute,
        match: anyRequest(),
        action: { case: "directResponse", value: { status: 502 } },
      });
  }
}

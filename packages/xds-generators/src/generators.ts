import type { Query } from "@istiod/incremental";
import type { Resource, ResourceSet } from "@istiod/resources";
import { clusters } from "./clusters/index.js";
import { endpointAssignments, endpointsOf } from "./endpoints/index.js";
import { listeners } from "./listeners/index.js";
import { nameTable } from "./names/index.js";
import { routeOf, routes } from "./routes/index.js";
import { secretOf, secrets } from "./secrets/index.js";

/** The resources of each type that a client should have, by type URL. */
export const generators: Readonly<Record<string, Query<void, ResourceSet>>> = {
  "type.googleapis.com/envoy.config.cluster.v3.Cluster": clusters,
  "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment": endpointAssignments,
  "type.googleapis.com/envoy.config.listener.v3.Listener": listeners,
  "type.googleapis.com/envoy.config.route.v3.RouteConfiguration": routes,
  "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret": secrets,
  "type.googleapis.com/istio.networking.nds.v1.NameTable": nameTable,
};

/** Resources that a client may ask for by name although they are not in its set, by type URL. */
export const lookups: Readonly<Record<string, Query<string, Resource | undefined>>> = {
  "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment": endpointsOf,
  "type.googleapis.com/envoy.config.route.v3.RouteConfiguration": routeOf,
  "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret": secretOf,
};

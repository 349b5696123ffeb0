import { type Query, query } from "@istiod/incremental";
import { isProxylessGrpc } from "@istiod/push-context";
import {
  clusterType,
  endpointType,
  extensionConfigType,
  listenerType,
  nameTableType,
  proxyConfigType,
  type Resource,
  type ResourceSet,
  routeType,
  secretType,
} from "@istiod/resources";
import { clusters } from "./clusters/index.js";
import { endpointAssignments, loadAssignmentByName } from "./endpoints/index.js";
import { extensionConfig, extensionConfigs } from "./extensions/extension-configs.js";
import { grpcCluster, grpcListener, grpcLoadAssignment, grpcRouteConfiguration } from "./grpc/index.js";
import { listeners } from "./listeners/index.js";
import { nameTable } from "./names/index.js";
import { routeConfigurationByName, routeConfigurations } from "./routes/index.js";
import { proxyConfigs } from "./security/trust-bundle.js";
import { secretByName, secrets } from "./secrets/index.js";

/** The resources of a client, by type URL. */
export const generators: Readonly<Record<string, Query<void, ResourceSet>>> = {
  [clusterType]: clusters,
  [endpointType]: endpointAssignments,
  [listenerType]: listeners,
  [routeType]: routeConfigurations,
  [secretType]: secrets,
  [extensionConfigType]: extensionConfigs,
  [nameTableType]: nameTable,
  [proxyConfigType]: proxyConfigs,
};

/** Resources that a client may request by name although they are not in its set, by type URL. */
export const lookups: Readonly<Record<string, Query<string, Resource | undefined>>> = {
  [clusterType]: lookup("clusterByName", grpcCluster),
  [endpointType]: lookup("endpointsByName", grpcLoadAssignment, loadAssignmentByName),
  [listenerType]: lookup("listenerByName", grpcListener),
  [routeType]: lookup("routesByName", grpcRouteConfiguration, routeConfigurationByName),
  [secretType]: secretByName,
  [extensionConfigType]: extensionConfig,
};

/**
 * Returns the query for a resource by name: that of proxyless gRPC, which subscribes to names only, or that of other
 * clients. Default: others find none.
 */
function lookup(
  name: string,
  ofGrpc: Query<string, Resource | undefined>,
  ofOthers?: Query<string, Resource | undefined>,
): Query<string, Resource | undefined> {
  return query(name, (q, resourceName: string) => {
    const found = q.ask(isProxylessGrpc) ? ofGrpc : ofOthers;
    return found && q.call(found, resourceName);
  });
}

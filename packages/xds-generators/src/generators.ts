import type { Query } from "@istiod/incremental";
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
  [endpointType]: loadAssignmentByName,
  [routeType]: routeConfigurationByName,
  [secretType]: secretByName,
  [extensionConfigType]: extensionConfig,
};

export { type FailedPart, type Failure, formatFailure, hasFailed } from "./failure.js";
export {
  partsOf,
  piecesOf,
  resource,
  type Resource,
  resourceOfParts,
  type ResourcePart,
  resourcePart,
  sizeOf,
} from "./resource.js";
export { type ResourceChange, ResourceSet } from "./resource-set.js";
export { difference, differenceInSteps, type Difference } from "./difference.js";
export {
  addressType,
  authorizationType,
  clusterType,
  comparePushOrder,
  endpointType,
  extensionConfigType,
  findXdsType,
  listenerType,
  nameTableType,
  proxyConfigType,
  routeType,
  runtimeType,
  scopedRouteType,
  secretType,
  virtualHostType,
  workloadType,
  xdsShortName,
  type XdsType,
  xdsType,
  xdsTypes,
} from "./xds-types.js";

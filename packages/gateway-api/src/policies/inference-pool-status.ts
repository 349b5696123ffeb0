import {
  configCluster,
  httpRoutes,
  type InferencePoolObject,
  inferencePools,
  kubernetesGateways,
  services,
} from "@istiod/config-schema";
import { servedGateway } from "../gateways/gateway-listeners.js";
import { index, query, type QueryContext } from "@istiod/incremental";
import { routeStatus } from "../routes/route-status.js";
import { features } from "../settings/features.js";
import { condition, type StatusCondition, type StatusFault } from "../status/conditions.js";
import { gatewayApiGroup } from "../names.js";

/** The status of an InferencePool for a Gateway whose routes name it. */
export interface InferencePoolParentStatus {
  readonly parentRef: {
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
  readonly conditions: readonly StatusCondition[];
}

export interface InferencePoolStatus {
  /** Those of istiod. The entries of other controllers stay. */
  readonly parents: readonly InferencePoolParentStatus[];
  /** The Gateways (`namespace/name`) that istiod serves. */
  readonly ownGateways: readonly string[];
}

const poolGroup = "inference.networking.k8s.io";

/** HTTPRoutes by the InferencePools (`namespace/name`) that they name. */
const routesByPool = index(httpRoutes, "byInferencePool", ({ namespace, spec }) => [
  ...new Set(
    spec.rules
      .flatMap(({ backendRefs }) => backendRefs)
      .filter(({ group, kind }) => group === poolGroup && kind === "InferencePool")
      .map((ref) => `${ref.namespace ?? namespace}/${ref.name}`),
  ),
]);

/**
 * The status of an InferencePool (`namespace/name`): one entry for each Gateway that an HTTPRoute to it names;
 * undefined if there is none that istiod serves. Source: pilot/pkg/config/kube/gateway/inferencepool_collection.go.
 */
export const inferencePoolStatus = query(
  "gatewayApiInferencePoolStatus",
  (q, key: string): InferencePoolStatus | undefined => {
    const pool = q.read(inferencePools, key);
    if (pool === undefined || !features.enabled(q) || !features.inferenceExtension(q)) return undefined;
    const resolvedRefs = resolvedRefsCondition(q, pool);
    const ownGateways = q.call(servedGateways);
    const parents = [...acceptedByGateway(q, key)].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      ownGateways,
      parents: parents.map(([gateway, accepted]) => {
        const [namespace = "", name = ""] = gateway.split("/");
        return {
          parentRef: { group: gatewayApiGroup, kind: "Gateway", namespace, name },
          conditions: [accepted, resolvedRefs],
        };
      }),
    };
  },
);

const servedGateways = query("gatewayApiServedGateways", (q): readonly string[] =>
  q.keys(kubernetesGateways).filter((key) => q.call(servedGateway, key) !== undefined),
);

/** Returns the condition Accepted for each Gateway: true if it accepts a route to the pool. */
function acceptedByGateway(q: QueryContext, key: string): ReadonlyMap<string, StatusCondition> {
  const accepted = new Map<string, StatusCondition>();
  for (const { namespace, name } of q.read(routesByPool, key)) {
    const route = `${namespace}/${name}`;
    for (const { parentRef, conditions } of q.call(routeStatus, { kind: "HTTPRoute", key: route })?.parents ?? []) {
      const { group = gatewayApiGroup, kind = "Gateway" } = parentRef;
      if (group !== gatewayApiGroup || kind !== "Gateway") continue;
      const gateway = `${parentRef.namespace ?? namespace}/${parentRef.name}`;
      const own = conditions.find(({ type }) => type === "Accepted");
      if (accepted.get(gateway)?.status !== "True") accepted.set(gateway, acceptedCondition(route, gateway, own));
    }
  }
  return accepted;
}

function acceptedCondition(route: string, gateway: string, ofRoute: StatusCondition | undefined): StatusCondition {
  const holds = { reason: "Accepted", message: "Referenced by an HTTPRoute accepted by the parentRef Gateway" };
  const fault: StatusFault | undefined =
    ofRoute?.status === "True"
      ? undefined
      : {
          reason: "HTTPRouteNotAccepted",
          message: `Referenced HTTPRoute ${route} not accepted by Gateway ${gateway}: ${ofRoute?.message ?? ""}`,
        };
  return condition("Accepted", holds, fault);
}

/** Returns the condition ResolvedRefs: the endpoint picker is a Service of the pool's namespace. */
function resolvedRefsCondition(q: QueryContext, { namespace, spec }: InferencePoolObject): StatusCondition {
  const { group = "", kind = "Service", name } = spec.endpointPicker;
  const holds = { reason: "ResolvedRefs", message: "Referenced ExtensionRef resolved successfully" };
  const reason = "InvalidExtensionRef";
  if (group !== "" || kind !== "Service")
    return condition("ResolvedRefs", holds, { reason, message: `Unsupported ExtensionRef kind ${kind}` });
  return q.read(services, `${configCluster(q)}/${namespace}/${name}`) === undefined
    ? condition("ResolvedRefs", holds, { reason, message: `Referenced ExtensionRef not found ${name}` })
    : condition("ResolvedRefs", holds);
}

/** The Gateways (`namespace/name`) that routes to InferencePools name, whether or not they accept them. Sorted. */
export const gatewaysOfInferencePools = query("gatewaysOfInferencePools", (q): readonly string[] => {
  if (!features.enabled(q) || !features.inferenceExtension(q)) return [];
  const gateways = q
    .keys(inferencePools)
    .filter((key) => q.read(inferencePools, key)?.spec.endpointPicker.port !== undefined)
    .flatMap((key) => q.call(inferencePoolStatus, key)?.parents ?? [])
    .map(({ parentRef: { namespace, name } }) => `${namespace}/${name}`);
  return [...new Set(gateways)].sort();
});

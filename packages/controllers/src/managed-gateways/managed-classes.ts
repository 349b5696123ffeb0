import {
  type BuiltInClass,
  builtInClasses,
  controllers,
  type DefaultClassNames,
  type GatewayRole,
} from "@istiod/gateway-api";

/** Properties of the objects of Gateways, by the controller of their GatewayClass. */
export interface ManagedClass {
  /** Name of the controller, as in `spec.controllerName` of a GatewayClass. */
  readonly controller: string;
  /** Name of the injection template that the objects are rendered from. */
  readonly template: string;
  /** Value of the label `gateway.istio.io/managed`, as templates see it. */
  readonly label: string;
  /** Type of the Service, unless an annotation sets it. */
  readonly serviceType: string;
  /** True if the default name of the objects ends with the name of the GatewayClass. */
  readonly hasClassSuffix: boolean;
}

/** The settings that decide which classes there are. */
export interface ClassSettings extends DefaultClassNames {
  /** Waypoints are deployed (`PILOT_ENABLE_AMBIENT_WAYPOINTS`). */
  readonly hasWaypoints: boolean;
  /** East-west gateways of ambient mode are deployed (`AMBIENT_ENABLE_MULTI_NETWORK`). */
  readonly hasEastWest: boolean;
  /** Gateways of other networks are read from objects (`PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API`). */
  readonly hasRemote: boolean;
  /** Gateways and waypoints of agentgateway are deployed (`PILOT_ENABLE_AGENTGATEWAY`). */
  readonly hasAgentgateway: boolean;
}

/** A GatewayClass that istiod creates. */
export type CreatedClass = Pick<BuiltInClass, "name" | "controller" | "description">;

const agentgateway: CreatedClass = {
  name: "istio-agentgateway",
  controller: "istio.io/agentgateway-controller",
  description: "Istio with Agentgateway",
};
const agentgatewayWaypoint: CreatedClass = {
  name: "istio-agentgateway-waypoint",
  controller: "istio.io/agentgateway-waypoint-controller",
  description: "Istio with Agentgateway Waypoint",
};

/** Returns the GatewayClasses that istiod creates. A Gateway may name one that does not exist yet. */
export function createdClasses(settings: ClassSettings): readonly CreatedClass[] {
  const isEnabled: Readonly<Record<GatewayRole, boolean>> = {
    gateway: true,
    remote: settings.hasRemote,
    waypoint: settings.hasWaypoints,
    "east-west": settings.hasEastWest,
  };
  return [
    ...builtInClasses(settings).filter(({ role }) => isEnabled[role]),
    ...(settings.hasAgentgateway ? [agentgateway] : []),
    ...(settings.hasAgentgateway && settings.hasWaypoints ? [agentgatewayWaypoint] : []),
  ];
}

/** Returns the properties of the objects of a controller's Gateways; undefined if it deploys none. */
export function managedClass(controller: string, settings: ClassSettings): ManagedClass | undefined {
  return managedClasses(settings).find((known) => known.controller === controller);
}

function managedClasses(settings: ClassSettings): readonly ManagedClass[] {
  const { controllerName, hasWaypoints, hasEastWest, hasAgentgateway } = settings;
  const balanced = "LoadBalancer";
  const internal = "ClusterIP";
  return [
    named(controllerName, "kube-gateway", "istio.io-gateway-controller", balanced, true),
    ...(hasWaypoints ? [named(controllers.waypoint, "waypoint", "istio.io-mesh-controller", internal)] : []),
    ...(hasEastWest ? [named(controllers.eastWest, "waypoint", "istio.io-eastwest-controller", balanced)] : []),
    ...(hasAgentgateway
      ? [named(agentgateway.controller, "agentgateway", "istio.io-gateway-controller", balanced)]
      : []),
    ...(hasAgentgateway && hasWaypoints
      ? [
          named(
            agentgatewayWaypoint.controller,
            "agentgateway-waypoint",
            "istio.io-agentgateway-waypoint-controller",
            internal,
          ),
        ]
      : []),
  ];
}

function named(
  controller: string,
  template: string,
  label: string,
  serviceType: string,
  hasClassSuffix = false,
): ManagedClass {
  return { controller, template, label, serviceType, hasClassSuffix };
}

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
export interface ClassSettings {
  /** Controller of the default class (`PILOT_GATEWAY_API_CONTROLLER_NAME`). */
  readonly controllerName: string;
  /** Name of the default class (`PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME`). */
  readonly defaultClass: string;
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
export interface BuiltInClass {
  readonly name: string;
  readonly controller: string;
  readonly description: string;
}

const waypointController = "istio.io/mesh-controller";
const eastWestController = "istio.io/eastwest-controller";
const agentgatewayController = "istio.io/agentgateway-controller";
const agentgatewayWaypointController = "istio.io/agentgateway-waypoint-controller";

/**
 * Returns the GatewayClasses that istiod creates. A Gateway may name one that does not exist yet. Source:
 * pilot/pkg/config/kube/gatewaycommon/classinfo.go.
 */
export function builtInClasses(settings: ClassSettings): readonly BuiltInClass[] {
  const classes: (BuiltInClass | false)[] = [
    {
      name: settings.defaultClass,
      controller: settings.controllerName,
      description: "The default Istio GatewayClass",
    },
    settings.hasRemote && {
      name: "istio-remote",
      controller: "istio.io/unmanaged-gateway",
      description: "Remote to this cluster. Does not deploy or affect configuration.",
    },
    settings.hasWaypoints && {
      name: "istio-waypoint",
      controller: waypointController,
      description: "The default Istio waypoint GatewayClass",
    },
    settings.hasEastWest && {
      name: "istio-east-west",
      controller: eastWestController,
      description: "The default GatewayClass for Istio East West Gateways",
    },
    settings.hasAgentgateway && {
      name: "istio-agentgateway",
      controller: agentgatewayController,
      description: "Istio with Agentgateway",
    },
    settings.hasAgentgateway &&
      settings.hasWaypoints && {
        name: "istio-agentgateway-waypoint",
        controller: agentgatewayWaypointController,
        description: "Istio with Agentgateway Waypoint",
      },
  ];
  return classes.filter((known) => known !== false);
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
    ...(hasWaypoints ? [named(waypointController, "waypoint", "istio.io-mesh-controller", internal)] : []),
    ...(hasEastWest ? [named(eastWestController, "waypoint", "istio.io-eastwest-controller", balanced)] : []),
    ...(hasAgentgateway
      ? [named(agentgatewayController, "agentgateway", "istio.io-gateway-controller", balanced)]
      : []),
    ...(hasAgentgateway && hasWaypoints
      ? [
          named(
            agentgatewayWaypointController,
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

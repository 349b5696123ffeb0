/** Controllers of GatewayClasses that have fixed names. */
export const controllers = {
  waypoint: "istio.io/mesh-controller",
  eastWest: "istio.io/eastwest-controller",
  remote: "istio.io/unmanaged-gateway",
} as const;

/** The roles of the Gateways of istiod's classes: `remote` ones are in another cluster, and only named here. */
export type GatewayRole = "gateway" | "waypoint" | "east-west" | "remote";

/** A GatewayClass that needs no object. */
export interface BuiltInClass {
  readonly name: string;
  readonly controller: string;
  readonly role: GatewayRole;
  /** Text for the object that istiod creates. */
  readonly description: string;
}

/** The names that settings give to the default class and its controller. */
export interface DefaultClassNames {
  readonly controllerName: string;
  readonly defaultClass: string;
}

/**
 * Returns the classes that need no GatewayClass object, whether or not settings enable their roles. Source:
 * pilot/pkg/config/kube/gatewaycommon/classinfo.go.
 */
export function builtInClasses({ controllerName, defaultClass }: DefaultClassNames): readonly BuiltInClass[] {
  return [
    {
      name: defaultClass,
      controller: controllerName,
      role: "gateway",
      description: "The default Istio GatewayClass",
    },
    {
      name: "istio-remote",
      controller: controllers.remote,
      role: "remote",
      description: "Remote to this cluster. Does not deploy or affect configuration.",
    },
    {
      name: "istio-waypoint",
      controller: controllers.waypoint,
      role: "waypoint",
      description: "The default Istio waypoint GatewayClass",
    },
    {
      name: "istio-east-west",
      controller: controllers.eastWest,
      role: "east-west",
      description: "The default GatewayClass for Istio East West Gateways",
    },
  ];
}

import type { KubernetesGatewayObject, KubernetesGatewaySpec } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import type { ServedClass } from "../classes/gateway-classes.js";
import { features } from "../settings/features.js";
import type { StatusFault } from "../status/conditions.js";

/** The Services whose workloads serve a Gateway. */
export interface GatewayServices {
  /** Hostnames, of Services in the namespace of the Gateway. */
  readonly hostnames: readonly string[];
  /** The fault of addresses, or of annotations. The others are served all the same. */
  readonly fault?: StatusFault;
}

const nameOverride = "gateway.istio.io/name-override";
const serviceTypeAnnotation = "networking.istio.io/service-type";
const serviceAccountAnnotation = "gateway.istio.io/service-account";

/**
 * Reports whether istiod deploys the workloads of a Gateway: it has no address, or a single IP address. Otherwise its
 * addresses name Services that exist.
 */
export function isManaged(q: QueryContext, { addresses }: KubernetesGatewaySpec): boolean {
  if (!features.manualDeployment(q)) return true;
  const [first, second] = addresses;
  return first === undefined || (second === undefined && (first.type ?? "IPAddress") === "IPAddress");
}

/** Returns the name of the resources of a managed Gateway, unless annotations name them otherwise. */
export function defaultName({ name, spec }: KubernetesGatewayObject, { hasPlainNames }: ServedClass): string {
  return hasPlainNames ? name : `${name}-${spec.gatewayClassName}`;
}

/** Returns the Services whose workloads serve a Gateway. */
export function gatewayServices(
  q: QueryContext,
  gateway: KubernetesGatewayObject,
  servedClass: ServedClass,
): GatewayServices {
  const { namespace, annotations, spec } = gateway;
  const hostname = (name: string): string => `${name}.${namespace}.svc.${features.domain(q)}`;
  if (isManaged(q, spec))
    return { hostnames: [hostname(annotations[nameOverride] || defaultName(gateway, servedClass))] };
  const isHostname = (type: string | undefined): boolean => type === undefined || type === "Hostname";
  const hostnames = spec.addresses
    .filter(({ type }) => isHostname(type))
    .map(({ value }) => (value.includes(".") ? value : hostname(value)));
  const others = spec.addresses.filter(({ type }) => !isHostname(type)).map(({ value }) => value);
  if (others.length > 0)
    return {
      hostnames,
      fault: { reason: "UnsupportedAddress", message: `only Hostname is supported, ignoring [${others.join(" ")}]` },
    };
  return annotations[serviceTypeAnnotation] === undefined
    ? { hostnames }
    : {
        hostnames,
        fault: {
          reason: "DeprecatedField",
          message: `annotation ${serviceTypeAnnotation} is deprecated, use Spec.Infrastructure.Routeability`,
        },
      };
}

/** Returns the service account of the workloads of a managed Gateway; empty for others, whose accounts are unknown. */
export function gatewayServiceAccount(
  q: QueryContext,
  gateway: KubernetesGatewayObject,
  servedClass: ServedClass,
): string {
  if (!isManaged(q, gateway.spec)) return "";
  return gateway.annotations[serviceAccountAnnotation] || defaultName(gateway, servedClass);
}

import {
  agentgatewayImage,
  InjectorError,
  type InjectorDocuments,
  type JsonObject,
  proxyIds,
  proxyImage,
} from "@istiod/injector";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { KubernetesObject } from "@istiod/kubernetes";
import { gatewayObjectKind } from "./gateway-object-kinds.js";
import { annotationOr, defaultName, infrastructureOf } from "./infrastructure.js";
import type { ManagedClass, ClassSettings } from "./managed-classes.js";
import { ManagedGatewayError } from "./managed-gateway-error.js";
import type { Listener, ObservedGateway } from "./observed-gateway.js";
import { checkOverlays, type Overlays, withOverlays } from "./overlays.js";
import { servicePorts } from "./service-ports.js";

/** Settings of istiod that the objects of Gateways depend on. */
export interface ManagedGatewaySettings extends ClassSettings {
  /** A Gateway with addresses of its own names an existing deployment (`ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT`). */
  readonly allowsManualDeployment: boolean;
  /** Objects get the labels and annotations of their Gateway (`PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS`). */
  readonly copiesMetadata: boolean;
  /** HTTPS ports are also opened for UDP (`PILOT_ENABLE_QUIC_LISTENERS`). */
  readonly hasQuic: boolean;
  /** `ENABLE_NATIVE_SIDECARS`. */
  readonly nativeSidecars: boolean;
  /** `COMPLIANCE_POLICY`. */
  readonly compliancePolicy: string;
  readonly clusterId: string;
  /** Revision of this istiod; empty for none. */
  readonly revision: string;
}

/** Everything that the objects of a managed gateway depend on. */
export interface RenderInput {
  readonly namespace: string;
  readonly name: string;
  readonly gateway: ObservedGateway;
  readonly managedClass: ManagedClass;
  /** Listeners of the ListenerSets that the Gateway accepts. */
  readonly attachedListeners: readonly Listener[];
  /** Annotations of the namespace, where OpenShift sets the user of the proxy. */
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
  /** Customizations, those of the class first. */
  readonly overlays: readonly Overlays[];
  readonly injection: Pick<InjectorDocuments, "config" | "values">;
  readonly meshConfig: MeshConfig;
  readonly proxyConfig: ProxyConfig;
  /** Version of Kubernetes: the major version times 100, and the minor version, such as 128 for 1.28. */
  readonly kubeVersion: number;
  readonly settings: ManagedGatewaySettings;
}

/** Reports whether a Gateway's objects are managed, and not those of a deployment that its addresses name. */
export function isManaged({ spec }: ObservedGateway, { allowsManualDeployment }: ManagedGatewaySettings): boolean {
  const { addresses = [] } = spec;
  if (!allowsManualDeployment || addresses.length === 0) return true;
  const [{ type = "IPAddress" } = {}] = addresses;
  return addresses.length === 1 && type === "IPAddress";
}

/**
 * Returns the objects of a managed gateway, in the order in which they are applied. Source:
 * pilot/pkg/config/kube/gatewaycommon/deploymentcontroller.go.
 *
 * @throws ManagedGatewayError if the template or a customization is invalid
 */
export function renderGateway(input: RenderInput): readonly KubernetesObject[] {
  const { namespace, name, gateway, managedClass, overlays } = input;
  const base = defaultName(name, gateway, managedClass);
  const deploymentName = annotationOr(gateway.annotations, "gateway.istio.io/name-override", base);
  const serviceAccount = annotationOr(gateway.annotations, "gateway.istio.io/service-account", base);
  checkOverlays(overlays);
  return render(input, { deploymentName, serviceAccount }).flatMap((object) => {
    const kind = gatewayObjectKind(object["apiVersion"], object["kind"]);
    if (kind === undefined)
      throw new ManagedGatewayError(
        `template ${managedClass.template}: renders ${String(object["apiVersion"])} ${String(object["kind"])}, which gateways cannot have`,
      );
    const customized = withOverlays(object, kind, overlays);
    if (customized === undefined) return [];
    checkName(customized, { namespace, names: [deploymentName, serviceAccount], prefix: name }, managedClass.template);
    return [labeled(customized, managedClass)];
  });
}

function render(
  input: RenderInput,
  names: { readonly deploymentName: string; readonly serviceAccount: string },
): readonly JsonObject[] {
  const { namespace, name, gateway, managedClass, injection, meshConfig, proxyConfig, settings } = input;
  const { config, values } = injection;
  const template = config.templates.get(managedClass.template);
  if (template === undefined) throw new ManagedGatewayError(`injection has no template ${managedClass.template}`);
  const { uid, labels, annotations, spec } = gateway;
  const isAmbient = settings.hasWaypoints;
  const infrastructure = infrastructureOf(gateway, { ...settings, isAmbient, network: values.network });
  const { uid: proxyUid, gid: proxyGid } = proxyIds({ metadata: { annotations: input.namespaceAnnotations } });
  const gatewayClass = spec.gatewayClassName ?? "";
  const imageType = proxyConfig.image?.imageType ?? "";
  try {
    return template.renderObjects({
      metadata: { name, namespace, uid, labels, annotations },
      gatewayClass,
      ...names,
      ports: servicePorts([...(spec.listeners ?? []), ...input.attachedListeners], settings),
      serviceType: annotations["networking.istio.io/service-type"] ?? managedClass.serviceType,
      addresses: (spec.addresses ?? []).map(({ type, value = "" }) => ({ ...(type !== undefined && { type }), value })),
      infrastructureLabels: infrastructure.labels,
      infrastructureAnnotations: infrastructure.annotations,
      proxyImage: proxyImage(values, imageType, annotations),
      agentgatewayImage: agentgatewayImage(values, imageType, annotations),
      proxyConfig,
      meshConfig,
      values: values.all,
      clusterId: settings.clusterId,
      kubeVersion: input.kubeVersion,
      revision: settings.revision,
      nativeSidecars: settings.nativeSidecars,
      proxyUid,
      proxyGid,
      compliancePolicy: settings.compliancePolicy,
      isEastWest: managedClass.label === "istio.io-eastwest-controller",
      controllerLabel: managedClass.label,
    });
  } catch (cause) {
    if (!(cause instanceof InjectorError)) throw cause;
    throw new ManagedGatewayError(cause.message, { cause });
  }
}

/** Checks that an object is in the Gateway's namespace, and named for the Gateway. */
function checkName(
  object: JsonObject,
  expected: { readonly namespace: string; readonly names: readonly string[]; readonly prefix: string },
  template: string,
): void {
  const { name, namespace } = (object["metadata"] ?? {}) as JsonObject;
  const place = `template ${template}: ${String(object["kind"])} ${String(namespace)}/${String(name)}`;
  if (namespace !== expected.namespace)
    throw new ManagedGatewayError(`${place}: metadata.namespace: expected the Gateway's, ${expected.namespace}`);
  if (typeof name !== "string" || !(expected.names.includes(name) || name.startsWith(expected.prefix)))
    throw new ManagedGatewayError(
      `${place}: metadata.name: expected ${[...new Set(expected.names)].join(" or ")}, or a name that begins with ${expected.prefix}`,
    );
}

/** Returns an object with the label by which its controller recognizes it. */
function labeled(object: JsonObject, { controller }: ManagedClass): KubernetesObject {
  const metadata = (object["metadata"] ?? {}) as JsonObject;
  const labels = {
    ...(metadata["labels"] as JsonObject | undefined),
    "gateway.istio.io/managed": controller.replaceAll("/", "-"),
  };
  return { ...object, metadata: { ...metadata, labels } } as KubernetesObject;
}

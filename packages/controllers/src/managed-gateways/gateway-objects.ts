import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { type Query, query } from "@istiod/incremental";
import { effectiveProxyConfig, selectorMatches } from "@istiod/injector";
import type { KubernetesObject } from "@istiod/kubernetes";
import { takeover } from "./controller-version.js";
import type { GatewayDeploymentOptions, GatewayInputs } from "./gateway-inputs.js";
import { createdClasses, type ManagedClass, managedClass } from "./managed-classes.js";
import { ManagedGatewayError } from "./managed-gateway-error.js";
import type { Listener, NamespaceSelection, ObservedOverlays } from "./observed-gateway.js";
import type { Overlays } from "./overlays.js";
import { isManaged, renderGateway } from "./render-gateway.js";

type StringMap = Readonly<Record<string, string>>;

/** The desired objects of a Gateway, or the reason why they cannot be rendered. */
export type GatewayObjects = { readonly objects: readonly KubernetesObject[] } | { readonly problem: string };

const nameLabel = "gateway.networking.k8s.io/gateway-name";

/** Returns the query of the objects of a Gateway (`namespace/name`); undefined if this istiod does not manage it. */
export function gatewayObjects(
  inputs: GatewayInputs,
  options: GatewayDeploymentOptions,
): Query<string, GatewayObjects | undefined> {
  const { gateways, injection, proxyConfigs, kubeVersion, discovered } = inputs;
  const classOf = managedClassOf(inputs, options);
  const listenersOf = attachedListeners(inputs);
  const overlaysOf = gatewayOverlays(inputs, options);
  return query("gatewayObjects", (q, key: string): GatewayObjects | undefined => {
    const ofClass = q.call(classOf, key);
    const gateway = q.read(gateways, key)?.value;
    const mesh = q.read(meshConfig, meshConfigKey);
    const injected = q.read(injection.collection, "")?.value;
    const version = q.read(kubeVersion.collection, "")?.value;
    if (ofClass === undefined || gateway === undefined || mesh === undefined || version === undefined) return undefined;
    if (injected === undefined) return { problem: "injection is not configured, so there are no templates" };
    const [namespace = "", name = ""] = key.split("/");
    const target = { namespace, labels: { [nameLabel]: name }, annotations: {} };
    try {
      const objects = renderGateway({
        namespace,
        name,
        gateway,
        managedClass: ofClass,
        attachedListeners: q.call(listenersOf, key),
        namespaceAnnotations: q.call(discovered.securityAnnotationsOf, namespace),
        overlays: q.call(overlaysOf, key),
        injection: injected,
        meshConfig: mesh,
        proxyConfig: effectiveProxyConfig(mesh, q.read(proxyConfigs.collection, "")?.value ?? [], target),
        kubeVersion: version.number,
        settings: options.settings,
      });
      return { objects };
    } catch (error) {
      if (error instanceof ManagedGatewayError) return { problem: error.message };
      throw error;
    }
  });
}

function managedClassOf(
  { gateways, classes, discovered, tags }: GatewayInputs,
  { settings }: GatewayDeploymentOptions,
): Query<string, ManagedClass | undefined> {
  const builtIn = new Map(createdClasses(settings).map((known) => [known.name, known.controller]));
  return query("managedClass", (q, key: string): ManagedClass | undefined => {
    const gateway = q.read(gateways, key)?.value;
    const [namespace = ""] = key.split("/");
    if (gateway === undefined || !q.call(discovered.isDiscovered, namespace)) return undefined;
    if (!q.call(tags.isMine, { namespace, revision: gateway.labels["istio.io/rev"] })) return undefined;
    if (!isManaged(gateway, settings) || !takeover(gateway.annotations).isOurs) return undefined;
    const className = gateway.spec.gatewayClassName ?? "";
    return managedClass(q.read(classes, className)?.value ?? builtIn.get(className) ?? "", settings);
  });
}

/** Returns the query of the listeners of the ListenerSets that a Gateway accepts, those of the oldest first. */
function attachedListeners({ gateways, setsByGateway, discovered }: GatewayInputs): Query<string, readonly Listener[]> {
  return query("attachedListeners", (q, key: string): readonly Listener[] => {
    const selection = q.read(gateways, key)?.value.spec.allowedListeners?.namespaces;
    const [own = ""] = key.split("/");
    return q
      .read(setsByGateway, key)
      .map(({ value }) => value)
      .filter(({ namespace }) => q.call(discovered.isDiscovered, namespace))
      .filter(({ namespace: other }) =>
        acceptsFrom(selection, { own, other, labels: q.call(discovered.labelsOf, other) }),
      )
      .sort((a, b) => compare(a.created, b.created))
      .flatMap(({ listeners }) => listeners);
  });
}

/** Reports whether a Gateway accepts the ListenerSets of a namespace. By default, it accepts none. */
function acceptsFrom(
  selection: NamespaceSelection | undefined,
  { own, other, labels }: { readonly own: string; readonly other: string; readonly labels: StringMap | undefined },
): boolean {
  const { from, selector } = selection ?? {};
  if (from === "All" || from === "Same") return from === "All" || own === other;
  if (selector === undefined || labels === undefined || (from !== undefined && from !== "Selector")) return false;
  try {
    return selectorMatches(selector, { ...labels, "kubernetes.io/metadata.name": other });
  } catch {
    // A selector that Kubernetes does not accept selects nothing.
    return false;
  }
}

/**
 * Returns the query of the customizations of a Gateway: those of its class, of which the oldest ConfigMap counts, and
 * those that it refers to.
 */
function gatewayOverlays(
  { gateways, configMaps, defaultsByClass }: GatewayInputs,
  { systemNamespace }: GatewayDeploymentOptions,
): Query<string, readonly Overlays[]> {
  return query("gatewayOverlays", (q, key: string): readonly Overlays[] => {
    const { gatewayClassName = "", infrastructure } = q.read(gateways, key)?.value.spec ?? {};
    const [defaults] = q
      .read(defaultsByClass, gatewayClassName)
      .map(({ value }) => value)
      .filter(({ namespace }) => namespace === systemNamespace)
      .sort((a, b) => compare(a.created, b.created));
    const ofClass = defaults === undefined ? [] : [overlaysIn(defaults)];
    if (infrastructure?.parametersRef === undefined) return ofClass;
    const { group = "", kind = "", name = "" } = infrastructure.parametersRef;
    const place = "spec.infrastructure.parametersRef";
    if (group !== "" || kind !== "ConfigMap")
      throw new ManagedGatewayError(`${place}: is ${group === "" ? "" : `${group}/`}${kind}, expected a ConfigMap`);
    const [namespace = ""] = key.split("/");
    const found = q.read(configMaps, `${namespace}/${name}`);
    if (found === undefined) throw new ManagedGatewayError(`${place}: ConfigMap ${namespace}/${name} does not exist`);
    return [...ofClass, overlaysIn(found.value)];
  });
}

function overlaysIn({ namespace, name, data }: ObservedOverlays): Overlays {
  return { source: `ConfigMap ${namespace}/${name}`, data };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

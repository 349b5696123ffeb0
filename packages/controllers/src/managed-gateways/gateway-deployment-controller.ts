import { meshConfig, meshConfigKey, type ProxyConfigObject } from "@istiod/config-schema";
import { type Collection, collection, index, query } from "@istiod/incremental";
import { effectiveProxyConfig, type InjectorDocuments, selectorMatches } from "@istiod/injector";
import type { FieldTree, KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { revisionTags } from "../inputs/revision-tags.js";
import { type Source, sourceInput } from "../inputs/source.js";
import { controllerVersion, takeover, versionAnnotation } from "./controller-version.js";
import { gatewayObjectKinds, overlayKeys } from "./gateway-object-kinds.js";
import { type ExistingObject, existingFields, gatewayPayload, observeExisting } from "./gateway-payload.js";
import { builtInClasses, type ManagedClass, managedClass } from "./managed-classes.js";
import { ManagedGatewayError } from "./managed-gateway-error.js";
import {
  configMapFields,
  gatewayFields,
  type Listener,
  type NamespaceSelection,
  listenerSetFields,
  observeGateway,
  type ObservedGateway,
  type ObservedListenerSet,
  observeListenerSet,
  observeOverlays,
  type ObservedOverlays,
} from "./observed-gateway.js";
import type { Overlays } from "./overlays.js";
import { isManaged, type ManagedGatewaySettings, renderGateway } from "./render-gateway.js";

/** What is outside of the API server and decides about the objects of Gateways. */
export interface GatewayDeploymentSources {
  /** The templates and values of injection. */
  readonly injection: Source<Pick<InjectorDocuments, "config" | "values">>;
  readonly proxyConfigs: Source<readonly ProxyConfigObject[]>;
  /** Version of Kubernetes: the major version times 100, and the minor version, such as 128 for 1.28. */
  readonly kubeVersion: Source<{ readonly number: number }>;
}

export interface GatewayDeploymentOptions extends Scope {
  /** Namespace of istiod, in which ConfigMaps customize classes. */
  readonly systemNamespace: string;
  readonly settings: ManagedGatewaySettings;
  readonly sources: GatewayDeploymentSources;
}

type StringMap = Readonly<Record<string, string>>;

/** The desired objects of a Gateway, or the reason why they cannot be rendered. */
type Rendered = { readonly objects: readonly KubernetesObject[] } | { readonly problem: string };

const gatewayType = gatewayApi("Gateway", "gateways", true);
const nameLabel = "gateway.networking.k8s.io/gateway-name";

/**
 * Returns the controller of the objects of Gateways: their ServiceAccount, Deployment, Service, and, if they are
 * customized, HorizontalPodAutoscaler and PodDisruptionBudget. Kubernetes deletes them with their Gateway. Objects
 * without the label `gateway.istio.io/managed` are left alone.
 */
export function gatewayDeploymentController(options: GatewayDeploymentOptions): Controller {
  const { systemNamespace, settings, namespace } = options;
  const fieldManager = settings.controllerName;
  const gateways = collection<Observed<ObservedGateway>>("Gateway");
  const classes = collection<Observed<string>>("GatewayClass");
  const listenerSets = collection<Observed<ObservedListenerSet>>("ListenerSet");
  const configMaps = collection<Observed<ObservedOverlays>>("ConfigMap");
  const existing = new Map<string, Collection<Observed<ExistingObject>>>(
    gatewayObjectKinds.map(({ type }) => [type.kind, collection<Observed<ExistingObject>>(type.kind)]),
  );
  const setsByGateway = index(listenerSets, "byGateway", ({ value }) => [value.gateway]);
  const defaultsByClass = index(configMaps, "byClass", ({ value: { defaultsFor } }) =>
    defaultsFor === undefined ? [] : [defaultsFor],
  );
  const injection = sourceInput("Injection", options.sources.injection);
  const proxyConfigs = sourceInput("ProxyConfigs", options.sources.proxyConfigs);
  const kubeVersion = sourceInput("KubernetesVersion", options.sources.kubeVersion);
  const discovered = discovery(options);
  const tags = revisionTags({ revision: settings.revision || "default", systemNamespace, discovered });

  const classOf = query("managedClass", (q, key: string): ManagedClass | undefined => {
    const gateway = q.read(gateways, key)?.value;
    const [in_ = ""] = key.split("/");
    if (gateway === undefined || !q.call(discovered.isDiscovered, in_)) return undefined;
    if (!q.call(tags.isMine, { namespace: in_, revision: gateway.labels["istio.io/rev"] })) return undefined;
    if (!isManaged(gateway, settings) || !takeover(gateway.annotations).isOurs) return undefined;
    const className = gateway.spec.gatewayClassName ?? "";
    const builtIn = builtInClasses(settings).find(({ name }) => name === className);
    const controller = q.read(classes, className)?.value ?? builtIn?.controller ?? "";
    return managedClass(controller, settings);
  });
  const attachedListeners = query("attachedListeners", (q, key: string): readonly Listener[] => {
    const selected = q.read(gateways, key)?.value.spec.allowedListeners?.namespaces;
    const [own = ""] = key.split("/");
    return q
      .read(setsByGateway, key)
      .map(({ value }) => value)
      .filter(({ namespace: in_ }) => q.call(discovered.isDiscovered, in_))
      .filter(({ namespace: in_ }) =>
        acceptsFrom(selected, { own, other: in_, labels: q.call(discovered.labelsOf, in_) }),
      )
      .sort((a, b) => compare(a.created, b.created))
      .flatMap(({ listeners }) => listeners);
  });
  const overlaysOf = query("gatewayOverlays", (q, key: string): readonly Overlays[] => {
    const { gatewayClassName = "", infrastructure } = q.read(gateways, key)?.value.spec ?? {};
    const [in_ = ""] = key.split("/");
    const [defaults] = q
      .read(defaultsByClass, gatewayClassName)
      .map(({ value }) => value)
      .filter((configMap) => configMap.namespace === systemNamespace)
      .sort((a, b) => compare(a.created, b.created));
    const overlays = defaults === undefined ? [] : [overlaysIn(defaults)];
    const { group = "", kind = "", name = "" } = infrastructure?.parametersRef ?? {};
    if (infrastructure?.parametersRef === undefined) return overlays;
    const place = "spec.infrastructure.parametersRef";
    if (group !== "" || kind !== "ConfigMap")
      throw new ManagedGatewayError(`${place}: is ${group === "" ? "" : `${group}/`}${kind}, expected a ConfigMap`);
    const found = q.read(configMaps, `${in_}/${name}`);
    if (found === undefined) throw new ManagedGatewayError(`${place}: ConfigMap ${in_}/${name} does not exist`);
    return [...overlays, overlaysIn(found.value)];
  });
  const rendered = query("gatewayObjects", (q, key: string): Rendered | undefined => {
    const ofClass = q.call(classOf, key);
    const gateway = q.read(gateways, key)?.value;
    const mesh = q.read(meshConfig, meshConfigKey);
    const injected = q.read(injection.collection, "")?.value;
    const version = q.read(kubeVersion.collection, "")?.value;
    if (ofClass === undefined || gateway === undefined || mesh === undefined || version === undefined) return undefined;
    const [in_ = "", name = ""] = key.split("/");
    if (injected === undefined) return { problem: "injection is not configured, so there are no templates" };
    const target = { namespace: in_, labels: { [nameLabel]: name }, annotations: {} };
    try {
      const objects = renderGateway({
        namespace: in_,
        name,
        gateway,
        managedClass: ofClass,
        attachedListeners: q.call(attachedListeners, key),
        namespaceAnnotations: q.call(discovered.securityAnnotationsOf, in_),
        overlays: q.call(overlaysOf, key),
        injection: injected,
        meshConfig: mesh,
        proxyConfig: effectiveProxyConfig(mesh, q.read(proxyConfigs.collection, "")?.value ?? [], target),
        kubeVersion: version.number,
        settings,
      });
      return { objects };
    } catch (error) {
      if (error instanceof ManagedGatewayError) return { problem: error.message };
      throw error;
    }
  });
  const targets = query("gatewayObjectKeys", (q): readonly string[] =>
    [...q.keys(gateways)].flatMap((key) => {
      const objects = q.call(rendered, key);
      if (objects === undefined) return [];
      return [
        ...(q.call(needsVersion, key) ? [`${key}/Gateway`] : []),
        ...("problem" in objects
          ? [`${key}/problem`]
          : objects.objects.map(({ kind, metadata }) => `${key}/${kind}/${metadata?.name}`)),
      ];
    }),
  );
  const needsVersion = query("gatewayNeedsVersion", (q, key: string): boolean => {
    const gateway = q.read(gateways, key)?.value;
    return gateway !== undefined && takeover(gateway.annotations).isNeeded;
  });
  const write = query("gatewayWrite", (q, target: string): Write | undefined => {
    const [in_ = "", name = "", kind, objectName = ""] = target.split("/");
    const key = `${in_}/${name}`;
    const objects = q.call(rendered, key);
    if (objects === undefined) return undefined;
    if (kind === "Gateway") return versionWrite({ namespace: in_, name });
    if ("problem" in objects) throw new ManagedGatewayError(`Gateway ${key}: ${objects.problem}`);
    const type = gatewayObjectKinds.find((known) => known.type.kind === kind)?.type;
    const desired = objects.objects.find((object) => object.kind === kind && object.metadata?.name === objectName);
    const observed = existing.get(kind ?? "");
    if (type === undefined || desired === undefined || observed === undefined) return undefined;
    const found = q.read(observed, `${in_}/${objectName}`);
    const object = gatewayPayload(desired, found, fieldManager);
    return object && { action: "apply", type, object, base: found?.resourceVersion };
  });
  const within = namespace === undefined ? {} : { namespace };
  const watches: readonly Watch[] = [
    discovered.watch,
    ...tags.watches,
    watch(gatewayType, gateways, gatewayFields, observeGateway, within),
    watch(gatewayApi("GatewayClass", "gatewayclasses", false), classes, classFields, controllerOf),
    watch(gatewayApi("ListenerSet", "listenersets", true), listenerSets, listenerSetFields, observeListenerSet, within),
    watch(core("ConfigMap", "configmaps"), configMaps, configMapFields, observeOverlays(overlayKeys), within),
    ...gatewayObjectKinds.map(({ type }) =>
      watch(
        type,
        existing.get(type.kind) as Collection<Observed<ExistingObject>>,
        existingFields,
        observeExisting(fieldManager),
        within,
      ),
    ),
  ];
  const inputs = [discovered.inputs, injection.follow, proxyConfigs.follow, kubeVersion.follow];
  return {
    name: "gateway deployment controller",
    fieldManager,
    watches,
    inputs: (database) => {
      const ends = inputs.map((follow) => follow(database));
      return () => ends.forEach((end) => end());
    },
    targets,
    write,
  };
}

const classFields = { spec: { controllerName: true } } as const;

function controllerOf(gatewayClass: KubernetesObject): string {
  return (gatewayClass as { readonly spec?: { readonly controllerName?: string } }).spec?.controllerName ?? "";
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

function overlaysIn({ namespace, name, data }: ObservedOverlays): Overlays {
  return { source: `ConfigMap ${namespace}/${name}`, data };
}

/**
 * Returns the write of the version of this controller, by the permission to write the status. Servers may ignore the
 * annotation there, so that it is written once, and not again for each version of the Gateway.
 */
function versionWrite(gateway: { readonly namespace: string; readonly name: string }): Write {
  const annotations = { [versionAnnotation]: String(controllerVersion) };
  return {
    action: "apply",
    type: gatewayType,
    subresource: "status",
    object: { metadata: { ...gateway, annotations } },
    base: undefined,
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function watch<V>(
  type: ResourceType,
  of: Collection<Observed<V>>,
  fields: FieldTree,
  select: (object: KubernetesObject) => V,
  options: Pick<Watch, "namespace"> = {},
): Watch {
  return { type, collection: of, fields, select, ...options } as Watch<V> as Watch;
}

function core(kind: string, plural: string): ResourceType {
  return { group: "", version: "v1", kind, plural, namespaced: true };
}

function gatewayApi(kind: string, plural: string, namespaced: boolean): ResourceType {
  return { group: "gateway.networking.k8s.io", version: "v1", kind, plural, namespaced };
}

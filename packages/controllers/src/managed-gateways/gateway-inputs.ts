import type { ProxyConfigObject } from "@istiod/config-schema";
import { type Collection, collection, index } from "@istiod/incremental";
import type { InjectorDocuments } from "@istiod/injector";
import type { FieldTree, KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import type { KubernetesVersion } from "../inputs/kubernetes-version.js";
import { revisionTags } from "../inputs/revision-tags.js";
import { type Source, sourceInput } from "../inputs/source.js";
import { gatewayObjectKinds, overlayKeys } from "./gateway-object-kinds.js";
import { type ExistingObject, existingFields, observeExisting } from "./gateway-payload.js";
import {
  configMapFields,
  gatewayFields,
  listenerSetFields,
  observeGateway,
  type ObservedGateway,
  type ObservedListenerSet,
  observeListenerSet,
  observeOverlays,
  type ObservedOverlays,
} from "./observed-gateway.js";
import type { ManagedGatewaySettings } from "./render-gateway.js";

/** Inputs from outside of the API server that decide about the objects of Gateways. */
export interface GatewayDeploymentSources {
  /** The templates and values of injection. */
  readonly injection: Source<Pick<InjectorDocuments, "config" | "values">>;
  readonly proxyConfigs: Source<readonly ProxyConfigObject[]>;
  readonly kubeVersion: Source<KubernetesVersion>;
}

export interface GatewayDeploymentOptions extends Scope {
  /** Namespace of istiod, in which ConfigMaps customize classes. */
  readonly systemNamespace: string;
  readonly settings: ManagedGatewaySettings;
  readonly sources: GatewayDeploymentSources;
}

/** The inputs of the controller of Gateways. */
export type GatewayInputs = ReturnType<typeof gatewayInputs>;

/** Returns the inputs of a controller of Gateways. */
export function gatewayInputs(options: GatewayDeploymentOptions) {
  const { systemNamespace, settings } = options;
  const gateways = collection<Observed<ObservedGateway>>("Gateway");
  const classes = collection<Observed<string>>("GatewayClass");
  const listenerSets = collection<Observed<ObservedListenerSet>>("ListenerSet");
  const configMaps = collection<Observed<ObservedOverlays>>("ConfigMap");
  const existing = new Map(
    gatewayObjectKinds.map(({ type }) => [type.kind as string, collection<Observed<ExistingObject>>(type.kind)]),
  );
  const discovered = discovery(options);
  return {
    gateways,
    classes,
    listenerSets,
    configMaps,
    /** Objects that a Gateway may need, by kind. */
    existing,
    setsByGateway: index(listenerSets, "byGateway", ({ value }) => [value.gateway]),
    defaultsByClass: index(configMaps, "byClass", ({ value: { defaultsFor } }) =>
      defaultsFor === undefined ? [] : [defaultsFor],
    ),
    injection: sourceInput("Injection", options.sources.injection),
    proxyConfigs: sourceInput("ProxyConfigs", options.sources.proxyConfigs),
    kubeVersion: sourceInput("KubernetesVersion", options.sources.kubeVersion),
    discovered,
    tags: revisionTags({ revision: settings.revision || "default", systemNamespace, discovered }),
  } as const;
}

/** Returns the watches and the other sources of the inputs. */
export function gatewayWatches(
  inputs: GatewayInputs,
  { namespace, settings }: GatewayDeploymentOptions,
): Required<Pick<Controller, "watches" | "inputs">> {
  const within = namespace === undefined ? {} : { namespace };
  const { discovered, tags, gateways, classes, listenerSets, configMaps, existing } = inputs;
  const observe = observeExisting(settings.controllerName);
  const watches = [
    discovered.watch,
    ...tags.watches,
    watch(gatewayType, gateways, gatewayFields, observeGateway, within),
    watch(gatewayApi("GatewayClass", "gatewayclasses", false), classes, classFields, controllerOf),
    watch(gatewayApi("ListenerSet", "listenersets", true), listenerSets, listenerSetFields, observeListenerSet, within),
    watch(configMapType, configMaps, configMapFields, observeOverlays(overlayKeys), within),
    ...gatewayObjectKinds.flatMap(({ type }) => {
      const of = existing.get(type.kind);
      return of === undefined ? [] : [watch(type, of, existingFields, observe, within)];
    }),
  ];
  const sources = [discovered.inputs, inputs.injection.follow, inputs.proxyConfigs.follow, inputs.kubeVersion.follow];
  return {
    watches,
    inputs: (database) => {
      const ends = sources.map((follow) => follow(database));
      return () => ends.forEach((end) => end());
    },
  };
}

export const gatewayType = gatewayApi("Gateway", "gateways", true);
const configMapType: ResourceType = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
const classFields = { spec: { controllerName: true } } as const;

function controllerOf(gatewayClass: KubernetesObject): string {
  return (gatewayClass as { readonly spec?: { readonly controllerName?: string } }).spec?.controllerName ?? "";
}

function watch<V>(
  type: ResourceType,
  of: Collection<Observed<V>>,
  fields: FieldTree,
  select: (object: KubernetesObject) => V,
  options: Pick<Watch, "namespace"> = {},
): Watch {
  return { type, collection: of, fields, select, ...options } as Watch<V> as Watch;
}

function gatewayApi(kind: string, plural: string, namespaced: boolean): ResourceType {
  return { group: "gateway.networking.k8s.io", version: "v1", kind, plural, namespaced };
}

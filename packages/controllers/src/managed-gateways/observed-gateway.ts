import type { KubernetesObject, ObjectMeta } from "@istiod/kubernetes";

type StringMap = Readonly<Record<string, string>>;

/** A listener, as far as the Service of its Gateway depends on it. */
export interface Listener {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
}

/** Namespaces whose ListenerSets a Gateway accepts. */
export interface NamespaceSelection {
  readonly from?: string;
  readonly selector?: {
    readonly matchLabels?: StringMap;
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: string;
      readonly values?: string[];
    }[];
  };
}

/** The parts of a Gateway that its objects depend on. Their types are those that the CustomResourceDefinition sets. */
export interface ObservedGateway {
  readonly uid: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly spec: {
    readonly gatewayClassName?: string;
    readonly listeners?: readonly Listener[] | null;
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly infrastructure?: {
      readonly labels?: StringMap;
      readonly annotations?: StringMap;
      readonly parametersRef?: { readonly group?: string; readonly kind?: string; readonly name?: string };
    };
    readonly allowedListeners?: { readonly namespaces?: NamespaceSelection };
  };
}

export const gatewayFields = {
  metadata: { labels: true, annotations: true },
  spec: {
    gatewayClassName: true,
    listeners: { name: true, port: true, protocol: true },
    addresses: true,
    infrastructure: true,
    allowedListeners: true,
  },
} as const;

export function observeGateway({ metadata, ...object }: KubernetesObject): ObservedGateway {
  const { spec = {} } = object as { readonly spec?: ObservedGateway["spec"] };
  const { uid = "", labels = {}, annotations = {} } = metadata ?? {};
  return { uid, labels, annotations, spec };
}

/** A ListenerSet with the key of its Gateway. */
export interface ObservedListenerSet {
  readonly namespace: string;
  readonly gateway: string;
  /** `metadata.creationTimestamp`. */
  readonly created: string;
  readonly listeners: readonly Listener[];
}

interface ListenerSet extends KubernetesObject {
  readonly spec?: {
    readonly parentRef?: { readonly namespace?: string; readonly name?: string };
    readonly listeners?: readonly Listener[];
  };
}

export const listenerSetFields = {
  metadata: { creationTimestamp: true },
  spec: { parentRef: true, listeners: { name: true, port: true, protocol: true } },
} as const;

export function observeListenerSet({ metadata, spec }: ListenerSet): ObservedListenerSet {
  const { namespace = "" } = metadata ?? {};
  const { parentRef, listeners = [] } = spec ?? {};
  const gateway = `${parentRef?.namespace ?? namespace}/${parentRef?.name ?? ""}`;
  return { namespace, gateway, created: creationOf(metadata), listeners };
}

/** Returns when an object was created. Times are of one form, so that they can be compared. */
function creationOf(metadata: ObjectMeta = {}): string {
  const { creationTimestamp } = metadata;
  return typeof creationTimestamp === "string" ? creationTimestamp : "";
}

/** A ConfigMap with customizations of the objects of Gateways, by kind, and the class whose defaults they are. */
export interface ObservedOverlays {
  readonly namespace: string;
  readonly name: string;
  /** Value of the label `gateway.istio.io/defaults-for-class`. */
  readonly defaultsFor: string | undefined;
  readonly created: string;
  readonly data: StringMap;
}

interface ConfigMap extends KubernetesObject {
  readonly data?: StringMap;
}

export const configMapFields = { metadata: { labels: true, creationTimestamp: true }, data: true } as const;

/** Returns a ConfigMap as customizations. Of ConfigMaps for other purposes, only the names of their keys are kept. */
export function observeOverlays(keys: readonly string[]): (object: ConfigMap) => ObservedOverlays {
  return ({ metadata, data = {} }) => ({
    namespace: metadata?.namespace ?? "",
    name: metadata?.name ?? "",
    defaultsFor: metadata?.labels?.["gateway.istio.io/defaults-for-class"],
    created: creationOf(metadata),
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, keys.includes(key) ? text : ""])),
  });
}

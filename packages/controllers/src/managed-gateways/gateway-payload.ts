import { storedForm, type JsonObject } from "@istiod/injector";
import { isApplied, type KubernetesObject } from "@istiod/kubernetes";

type StringMap = Readonly<Record<string, string>>;

/** An object with the name of one that a Gateway needs. */
export interface ExistingObject {
  /** True if it has the label `gateway.istio.io/managed`. Others belong to users and are left alone. */
  readonly isManaged: boolean;
  /** Undefined if it is not managed. */
  readonly object: KubernetesObject | undefined;
}

export const existingFields = {
  metadata: { labels: true, annotations: true, ownerReferences: true, managedFields: true },
  spec: true,
  secrets: true,
  imagePullSecrets: true,
  automountServiceAccountToken: true,
} as const;

const notManaged: ExistingObject = { isManaged: false, object: undefined };

/** Returns an object as far as the writes of its Gateway depend on it. */
export function observeExisting(fieldManager: string): (object: KubernetesObject) => ExistingObject {
  return (object) => {
    if (object.metadata?.labels?.["gateway.istio.io/managed"] === undefined) return notManaged;
    const { resourceVersion: _version, managedFields = [], ...metadata } = object.metadata;
    const own = managedFields.filter(({ manager }) => manager === fieldManager);
    return { isManaged: true, object: { ...object, metadata: { ...metadata, managedFields: own } } };
  };
}

/**
 * Returns the payload that an object needs; undefined if it is as desired, or belongs to somebody else. A payload names
 * the version that it was computed from.
 */
export function gatewayPayload(
  desired: KubernetesObject,
  existing: { readonly value: ExistingObject; readonly resourceVersion: string } | undefined,
  fieldManager: string,
): KubernetesObject | undefined {
  if (existing === undefined) return desired;
  const { isManaged, object } = existing.value;
  if (!isManaged || object === undefined) return undefined;
  const payload = desired.kind === "Deployment" ? withFormerSelector(desired, object) : desired;
  if (isApplied(stored(payload), stored({ ...object, kind: payload.kind ?? "" }), { fieldManager })) return undefined;
  const { resourceVersion } = existing;
  return { ...payload, metadata: { ...payload.metadata, ...(resourceVersion && { resourceVersion }) } };
}

/** Returns an object in a form that does not depend on how it was written. */
const stored = (object: KubernetesObject): KubernetesObject => storedForm(object.kind ?? "", object as JsonObject);

interface Deployment extends KubernetesObject {
  readonly spec?: {
    readonly selector?: { readonly matchLabels?: StringMap };
    readonly template?: { readonly metadata?: { readonly labels?: StringMap } };
  };
}

const formerLabel = "istio.io/gateway-name";

/**
 * Returns a Deployment with the selector of the existing one, if that is of a control plane before 1.24: selectors
 * cannot be changed, and had one more label.
 */
function withFormerSelector(desired: Deployment, { spec }: Deployment): Deployment {
  const { selector, template } = spec ?? {};
  if (!selector?.matchLabels?.[formerLabel]) return desired;
  const { metadata } = desired.spec?.template ?? {};
  const labels = { ...metadata?.labels, [formerLabel]: template?.metadata?.labels?.[formerLabel] ?? "" };
  return {
    ...desired,
    spec: { ...desired.spec, selector, template: { ...desired.spec?.template, metadata: { ...metadata, labels } } },
  } as Deployment;
}

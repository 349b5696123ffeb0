import { type LabelSelector, selects } from "../cluster/objects.js";
import {
  injectionLabel,
  labelOf,
  nameOfObject,
  revisionLabel,
  type Webhook,
  type WebhookConfiguration,
} from "./injection-webhooks.js";

type Labels = Readonly<Record<string, string>>;

/** Verdict of the webhooks of one configuration on a Pod, with the reason. */
export interface InjectionVerdict {
  readonly webhook: string;
  readonly revision: string;
  readonly injected: boolean;
  readonly reason: string;
}

/** Returns what a configuration does with a Pod, in the words of `istioctl check-inject`. */
export function injectionVerdict(
  configuration: WebhookConfiguration,
  labels: { readonly pod: Labels; readonly namespace: Labels },
): InjectionVerdict {
  const webhooks = configuration.webhooks ?? [];
  const found = firstDefined(webhooks, (webhook) => verdictOf(webhook, labels));
  return {
    webhook: nameOfObject(configuration),
    revision: labelOf(configuration, revisionLabel),
    ...(found ?? { injected: false, reason: mismatch(webhooks) }),
  };
}

type Verdict = Pick<InjectionVerdict, "injected" | "reason">;

function verdictOf(
  { namespaceSelector, objectSelector }: Webhook,
  { pod, namespace }: { readonly pod: Labels; readonly namespace: Labels },
): Verdict | undefined {
  const isNamespaceSelected = selects(namespaceSelector, namespace);
  const isPodSelected = selects(objectSelector, pod);
  if (isNamespaceSelected && isPodSelected) return matchVerdict(namespaceSelector, objectSelector, { pod, namespace });
  if (isNamespaceSelected) return preventingLabel(objectSelector, pod);
  const injection = namespace[injectionLabel];
  if (isPodSelected && injection !== undefined && injection !== "enabled")
    return { injected: false, reason: `Namespace has ${injectionLabel}=${injection} label, preventing injection` };
  return undefined;
}

function matchVerdict(
  namespaceSelector: LabelSelector | undefined,
  objectSelector: LabelSelector | undefined,
  { pod, namespace }: { readonly pod: Labels; readonly namespace: Labels },
): Verdict | undefined {
  const ofNamespace = decidingLabel(namespaceSelector, namespace);
  const ofPod = decidingLabel(objectSelector, pod);
  if (ofNamespace && ofPod)
    return { injected: true, reason: `Namespace label ${ofNamespace} matches, and pod label ${ofPod} matches` };
  if (ofPod) return { injected: true, reason: `Pod label ${ofPod} matches` };
  if (!ofNamespace) return undefined;
  const isOfAll = ofNamespace.includes("kubernetes.io/metadata.name");
  const note = isOfAll ? " (Automatic injection is enabled in all namespaces)." : "";
  return { injected: true, reason: `Namespace label ${ofNamespace} matches${note}` };
}

/** Returns the label by which a selector matches; undefined if it only demands that labels are absent. */
function decidingLabel(selector: LabelSelector | undefined, labels: Labels): string | undefined {
  return firstDefined(selector?.matchExpressions ?? [], ({ key, operator }) =>
    (operator === "In" || operator === "NotIn") && labels[key] !== undefined ? `${key}=${labels[key]}` : undefined,
  );
}

function preventingLabel(selector: LabelSelector | undefined, labels: Labels): Verdict | undefined {
  const label = firstDefined(selector?.matchExpressions ?? [], ({ key, operator, values = [] }) => {
    const value = labels[key];
    if (value === undefined) return undefined;
    return operator === "DoesNotExist" || (operator === "NotIn" && values.includes(value))
      ? `${key}=${value}`
      : undefined;
  });
  return label === undefined ? undefined : { injected: false, reason: `Pod has ${label} label, preventing injection` };
}

function mismatch(webhooks: readonly Webhook[]): string {
  if (webhooks.some(isDeactivated)) return "The injection webhook is deactivated, and will never match labels.";
  const labels = (selectors: readonly (LabelSelector | undefined)[]): string =>
    selectors
      .flatMap((selector) => selector?.matchExpressions ?? [])
      .filter(({ operator }) => operator === "In")
      .flatMap(({ key, values = [] }) => values.map((value) => `${key}=${value}`))
      .join(", ");
  const namespaces = labels(webhooks.map(({ namespaceSelector }) => namespaceSelector));
  return `No matching namespace labels (${namespaces}) or pod labels (${labels(webhooks.map(({ objectSelector }) => objectSelector))})`;
}

/** The selector of a webhook that is deactivated, because another revision is the default. */
export const neverMatch: LabelSelector = {
  matchLabels: { "istio.io/deactivated": "never-match" },
};

function isDeactivated({ namespaceSelector, objectSelector }: Webhook): boolean {
  return [namespaceSelector, objectSelector].every(
    (selector) => selector?.matchLabels?.["istio.io/deactivated"] === "never-match",
  );
}

function firstDefined<T, U>(items: readonly T[], of: (item: T) => U | undefined): U | undefined {
  for (const item of items) {
    const found = of(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

import { systemNamespaces } from "@istiod/config-schema";
import type { KubernetesObject } from "@istiod/kubernetes";
import type { LabelSelector } from "../cluster/objects.js";
import {
  injectionLabel,
  labelOf,
  podInjectionLabel,
  revisionLabel,
  tagLabel,
  type Webhook,
  type WebhookConfiguration,
} from "../webhooks/injection-webhooks.js";

/** The objects of a revision that a tag is made of, and its options. */
export interface TagSource {
  readonly tag: string;
  readonly revision: string;
  /** The configuration of the revision's own injection webhooks. */
  readonly injection: WebhookConfiguration;
  /** The configuration of the revision's own validation webhooks. */
  readonly validation: WebhookConfiguration | undefined;
  /** The revision's Service. */
  readonly service: ServiceObject | undefined;
  readonly webhookName: string;
  readonly autoInjectNamespaces: boolean;
}

export interface ServiceObject extends KubernetesObject {
  readonly spec?: { readonly ports?: readonly object[]; readonly selector?: Readonly<Record<string, string>> };
}

/** The ValidatingWebhookConfiguration of objects without a revision. */
export const defaultValidator = "istiod-default-validator";

/**
 * Builds the objects of a revision tag, as the chart's value `revisionTags` does: the injection webhooks, for the tag
 * `default` the validation webhook, and the Service.
 */
export function tagObjects(source: TagSource): KubernetesObject[] {
  return [
    injectionConfiguration(source),
    ...(source.tag === "default" && source.validation ? [validationConfiguration(source, source.validation)] : []),
    ...(source.service ? [tagService(source, source.service)] : []),
  ];
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

const isIn = (key: string, ...values: string[]): Requirement => ({ key, operator: "In", values });
const isNotIn = (key: string, ...values: string[]): Requirement => ({ key, operator: "NotIn", values });
const isAbsent = (key: string): Requirement => ({ key, operator: "DoesNotExist" });

interface InjectionCase {
  readonly prefix: string;
  readonly namespace: readonly Requirement[];
  readonly pod: readonly Requirement[];
}

/** Returns the cases in which a Pod is injected. The later ones are those of the default revision alone. */
function injectionCases({ tag, autoInjectNamespaces }: TagSource): InjectionCase[] {
  const isUnlabeled = [isAbsent(revisionLabel), isAbsent(injectionLabel)];
  const isAllowed = isNotIn(podInjectionLabel, "false");
  const cases = [
    { prefix: "rev.namespace.", namespace: [isIn(revisionLabel, tag), isAbsent(injectionLabel)], pod: [isAllowed] },
    { prefix: "rev.object.", namespace: isUnlabeled, pod: [isAllowed, isIn(revisionLabel, tag)] },
  ];
  if (tag !== "default") return cases;
  const ofDefault = [
    { prefix: "namespace.", namespace: [isIn(injectionLabel, "enabled")], pod: [isAllowed] },
    { prefix: "object.", namespace: isUnlabeled, pod: [isIn(podInjectionLabel, "true"), isAbsent(revisionLabel)] },
  ];
  const ofAll = {
    prefix: "auto.",
    namespace: [...isUnlabeled, isNotIn("kubernetes.io/metadata.name", ...systemNamespaces)],
    pod: [isAbsent(podInjectionLabel), isAbsent(revisionLabel)],
  };
  return [...cases, ...ofDefault, ...(autoInjectNamespaces ? [ofAll] : [])];
}

function injectionConfiguration(source: TagSource): KubernetesObject {
  const { injection, webhookName, tag } = source;
  const own = injectionWebhook(injection);
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: {
      name: webhookName || `istio-revision-tag-${tag}`,
      labels: { ...tagLabels(source), app: "sidecar-injector" },
      ...(injection.metadata?.annotations && { annotations: ownAnnotations(injection) }),
    },
    webhooks: injectionCases(source).map(({ prefix, namespace, pod }) => ({
      name: `${prefix}sidecar-injector.istio.io`,
      clientConfig: own.clientConfig,
      sideEffects: "None",
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
      failurePolicy: "Fail",
      ...(own.reinvocationPolicy && { reinvocationPolicy: own.reinvocationPolicy }),
      admissionReviewVersions: ["v1"],
      namespaceSelector: { matchExpressions: namespace },
      objectSelector: { matchExpressions: pod },
    })),
  } as KubernetesObject;
}

/** Returns the revision's webhook of injection. @throws Error if there is none */
export function injectionWebhook(configuration: WebhookConfiguration): Webhook {
  const found = configuration.webhooks?.find(({ name }) => name.endsWith("sidecar-injector.istio.io"));
  if (found === undefined)
    throw new Error(
      `MutatingWebhookConfiguration ${configuration.metadata?.name}: has no webhook sidecar-injector.istio.io`,
    );
  return found;
}

/** As that of the chart, it validates objects of all revisions. */
function validationConfiguration(source: TagSource, { webhooks = [] }: WebhookConfiguration): KubernetesObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: defaultValidator, labels: { ...tagLabels(source), app: "istiod" } },
    webhooks: webhooks.slice(0, 1).map(({ objectSelector: _, ...own }) => ({ ...own, name: "validation.istio.io" })),
  } as KubernetesObject;
}

function tagService(source: TagSource, { metadata, spec = {} }: ServiceObject): KubernetesObject {
  const { ports, selector } = spec;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: `istiod-revision-tag-${source.tag}`,
      ...(metadata?.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { ...tagLabels(source), app: "istiod", istio: "pilot" },
    },
    spec: { ports, selector },
  } as KubernetesObject;
}

/** Returns the revision's labels, without those by which an installer would remove the objects. */
function tagLabels({ injection, tag, revision }: TagSource): Record<string, string> {
  const kept = Object.entries(injection.metadata?.labels ?? {}).filter(([key]) => !key.includes("operator.istio.io"));
  return {
    ...Object.fromEntries(kept),
    [revisionLabel]: labelOf(injection, revisionLabel) || revision,
    [tagLabel]: tag,
  };
}

/** Returns the annotations without those of kubectl and Helm. */
function ownAnnotations({ metadata }: KubernetesObject): Record<string, string> {
  const all = Object.entries(metadata?.annotations ?? {});
  return Object.fromEntries(all.filter(([key]) => !/^(kubectl\.kubernetes\.io|meta\.helm\.sh)\//.test(key)));
}

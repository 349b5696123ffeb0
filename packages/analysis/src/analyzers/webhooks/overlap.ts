import {
  mutatingWebhookConfigurations,
  services,
  type Webhook,
  type WebhookConfigurationObject,
  type WebhookSelector,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { AnalysisContext } from "../../analyzer.js";
import { listNames } from "../../suggestions.js";
import { matchesSelector } from "./selector.js";

type Labels = Readonly<Record<string, string>>;

const revisionLabel = "istio.io/rev";

/** Injection labels of namespaces and pods, without the revision label. */
const namespaceLabels: readonly Labels[] = [{}, { "istio-injection": "enabled" }, { "istio-injection": "disabled" }];
const podLabels: readonly Labels[] = [
  {},
  { "sidecar.istio.io/inject": "true" },
  { "sidecar.istio.io/inject": "false" },
];

/**
 * The injection webhooks of a cluster that overlap, by `configuration/webhook`, each with the webhooks that it
 * overlaps. Every combination of injection labels must match at most one webhook.
 */
const overlaps = query("webhookOverlaps", (q, cluster: string): ReadonlyMap<string, readonly string[]> => {
  const injectors = q.all(mutatingWebhookConfigurations).filter((c) => c.cluster === cluster && isInjector(c));
  const revisions = new Set(injectors.flatMap(revisionsOf));
  const withRevisions = (base: readonly Labels[]): readonly Labels[] => [
    ...base,
    ...[...revisions].flatMap((revision) => base.map((labels) => ({ ...labels, [revisionLabel]: revision }))),
  ];
  const webhooks = injectors.flatMap(({ name, spec }) =>
    spec.webhooks.map((webhook) => ({ id: `${name}/${webhook.name}`, webhook })),
  );
  const found = new Map<string, Set<string>>();
  for (const ofNamespace of withRevisions(namespaceLabels)) {
    const selecting = webhooks.filter(({ webhook }) => matchesSelector(webhook.namespaceSelector, ofNamespace));
    for (const ofPod of withRevisions(podLabels)) {
      const ids = new Set(
        selecting.filter(({ webhook }) => matchesSelector(webhook.objectSelector, ofPod)).map(({ id }) => id),
      );
      if (ids.size > 1)
        for (const id of ids)
          for (const other of ids) if (other !== id) found.set(id, (found.get(id) ?? new Set()).add(other));
    }
  }
  return new Map([...found].map(([id, others]) => [id, [...others].sort()]));
});

/** Checks that an injector's webhooks do not overlap with others and call services that exist. */
export function checkInjector(configuration: WebhookConfigurationObject, { q, report }: AnalysisContext): void {
  if (!isInjector(configuration)) return;
  const { cluster, name, spec } = configuration;
  const overlapping = q.call(overlaps, cluster);
  for (const [i, webhook] of spec.webhooks.entries()) {
    const others = overlapping.get(`${name}/${webhook.name}`);
    if (others !== undefined) {
      report(
        "IST0139",
        ["webhooks", i],
        `webhook ${webhook.name} overlaps with others: ${listNames(others)}, so that injection may occur twice; make their selectors exclude each other`,
      );
    }
    if (
      webhook.service !== undefined &&
      q.read(services, `${cluster}/${webhook.service.namespace}/${webhook.service.name}`) === undefined
    ) {
      const target = `${webhook.service.namespace}/${webhook.service.name}`;
      report(
        "IST0139",
        ["webhooks", i, "clientConfig", "service"],
        `webhook ${webhook.name} refers to a control plane service that does not exist: ${target}; remove the webhook or correct the service`,
      );
    }
  }
}

/** Reports whether a configuration injects sidecars. */
export function isInjector(configuration: WebhookConfigurationObject): boolean {
  return (
    configuration.spec.webhooks.some(({ name }) => name.endsWith("istio.io")) || revisionsOf(configuration).length > 0
  );
}

/** Returns the revisions in a configuration's labels and in its webhooks' selectors. */
export function revisionsOf({ labels, spec }: WebhookConfigurationObject): readonly string[] {
  const own = labels[revisionLabel];
  return [...(own === undefined ? [] : [own]), ...spec.webhooks.flatMap(revisionsOfWebhook)];
}

function revisionsOfWebhook({ namespaceSelector, objectSelector }: Webhook): readonly string[] {
  return [namespaceSelector, objectSelector].flatMap((selector) =>
    selector === undefined ? [] : revisionsOfSelector(selector),
  );
}

function revisionsOfSelector({ matchLabels, matchExpressions }: WebhookSelector): readonly string[] {
  const exact = matchLabels[revisionLabel];
  return [
    ...(exact === undefined ? [] : [exact]),
    ...matchExpressions.filter(({ key }) => key === revisionLabel).flatMap(({ values }) => values),
  ];
}

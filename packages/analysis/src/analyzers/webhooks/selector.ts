import { matchesLabelSelector, type WebhookSelector } from "@istiod/config-schema";

/** Reports whether a selector of a webhook matches. Without one, everything does. */
export function matchesSelector(
  selector: WebhookSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return selector === undefined || matchesLabelSelector(selector, labels);
}

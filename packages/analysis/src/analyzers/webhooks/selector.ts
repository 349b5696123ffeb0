import { matchesLabelSelector, type WebhookSelector } from "@istiod/config-schema";

/** Reports whether a webhook's selector matches labels. An absent selector matches everything. */
export function matchesSelector(
  selector: WebhookSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return selector === undefined || matchesLabelSelector(selector, labels);
}

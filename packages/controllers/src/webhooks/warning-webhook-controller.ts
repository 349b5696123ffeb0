import { collection, query } from "@istiod/incremental";
import type { Controller } from "../controller/controller.js";
import { followRootCertificates, rootCertificateInput } from "../root-certificates/root-certificates.js";
import type { InjectionWebhookOptions } from "./injection-webhook-controller.js";
import {
  validatingType,
  type WebhookConfigurations,
  webhooksWrite,
  webhookWatch,
  withCaBundle,
} from "./webhook-configuration.js";

/**
 * Label of configurations whose webhooks only warn. It is not Istio's label of revisions, by which an istiod of another
 * version would let errors of these webhooks reject Services and Pods.
 */
const warningLabel = "internal.istio.io/warnings-rev";

/**
 * Keeps the CA bundle of the webhooks that only warn, of a revision. Their `failurePolicy` is never changed. Every
 * istiod of the revision runs it, without a leader lock: they write equal bundles.
 */
export function warningWebhookController({ roots, revision }: InjectionWebhookOptions): Controller {
  const configurations: WebhookConfigurations = collection("ValidatingWebhookConfiguration for warnings");
  return {
    name: "warning webhook controller",
    watches: [webhookWatch(validatingType, configurations, revision, warningLabel)],
    inputs: (database) => followRootCertificates(roots, database),
    targets: query("warningWebhooks", (q) => q.keys(configurations)),
    write: query("warningWebhook", (q, name: string) => {
      const observed = q.read(configurations, name);
      const pem = q.read(rootCertificateInput, "");
      if (observed === undefined || pem === undefined) return undefined;
      return webhooksWrite(validatingType, name, observed, (webhook) => withCaBundle(webhook, pem));
    }),
  };
}

import { collection, query } from "@istiod/incremental";
import type { Controller } from "../controller/controller.js";
import {
  followRootCertificates,
  rootCertificateInput,
  type RootCertificates,
} from "../root-certificates/root-certificates.js";
import {
  mutatingType,
  webhooksWrite,
  webhookWatch,
  type WebhookConfigurations,
  withCaBundle,
} from "./webhook-configuration.js";

export interface InjectionWebhookOptions {
  /** Roots by which API servers verify istiod's serving certificate. */
  readonly roots: RootCertificates;
  /** Revision of this istiod, such as `default`. */
  readonly revision: string;
}

/** Suffix of the names of Istio's injection webhooks. */
export const injectionWebhook = "sidecar-injector.istio.io";

/**
 * Keeps the CA bundle of the injection webhooks of a revision and of its tags. Every istiod of the revision runs it,
 * without a leader lock, as in Istio: they write equal bundles. Source: pkg/webhooks/webhookpatch.go.
 */
export function injectionWebhookController({ roots, revision }: InjectionWebhookOptions): Controller {
  const configurations: WebhookConfigurations = collection("MutatingWebhookConfiguration");
  return {
    name: "injection webhook controller",
    watches: [webhookWatch(mutatingType, configurations, revision)],
    inputs: (database) => followRootCertificates(roots, database),
    targets: query("injectionWebhooks", (q) => q.keys(configurations)),
    write: query("injectionWebhook", (q, name: string) => {
      const observed = q.read(configurations, name);
      const pem = q.read(rootCertificateInput, "");
      if (observed === undefined || pem === undefined || observed.value.revision !== revision) return undefined;
      return webhooksWrite(mutatingType, name, observed, (webhook) =>
        webhook.name?.endsWith(injectionWebhook) === true ? withCaBundle(webhook, pem) : webhook,
      );
    }),
  };
}

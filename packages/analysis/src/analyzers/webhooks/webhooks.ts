import {
  mutatingWebhookConfigurationKind,
  mutatingWebhookConfigurations,
  validatingWebhookConfigurationKind,
  validatingWebhookConfigurations,
} from "@istiod/config-schema";
import { type Analyzer, rule } from "../../analyzer.js";
import { checkAddresses, isSidecarInjector, isValidator } from "./external-control-plane.js";
import { checkInjector } from "./overlap.js";

/** Analyzers of webhook configurations. */
export const webhookAnalyzers: readonly Analyzer[] = [
  {
    name: "externalcontrolplane.ExternalControlPlaneAnalyzer",
    description: "Checks the addresses of an external control plane in Istio's webhooks",
    codes: ["IST0163", "IST0164"],
    rules: [
      rule(validatingWebhookConfigurationKind, validatingWebhookConfigurations, (object, context) => {
        if (isValidator(object)) checkAddresses(object, context);
      }),
      rule(mutatingWebhookConfigurationKind, mutatingWebhookConfigurations, (object, context) => {
        if (isSidecarInjector(object)) checkAddresses(object, context);
      }),
    ],
  },
  {
    name: "webhook.Analyzer",
    description: "Checks that injection webhooks do not overlap and call services that exist",
    codes: ["IST0139"],
    rules: [rule(mutatingWebhookConfigurationKind, mutatingWebhookConfigurations, checkInjector)],
  },
];

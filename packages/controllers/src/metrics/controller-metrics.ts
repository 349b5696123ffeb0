import { ApiError } from "@istiod/kubernetes";
import type { Meter } from "@istiod/metrics";
import type { WriteListener } from "../controller/run-controller.js";
import type { Write } from "../controller/write.js";
import { injectionWebhook } from "../webhooks/injection-webhook-controller.js";

/** Counts the patches of injection webhooks, by the names of Istio (pkg/webhooks/monitoring.go). */
export function injectionWebhookMetrics(meter: Meter): WriteListener {
  const attempts = meter.counter({
    name: "webhook_patch_attempts_total",
    help: "Webhook patching attempts",
    labels: ["name"],
  });
  const retries = meter.counter({
    name: "webhook_patch_retries_total",
    help: "Webhook patching retries",
    labels: ["name"],
  });
  const failures = meter.counter({
    name: "webhook_patch_failures_total",
    help: "Webhook patching total failures",
    labels: ["name", "reason"],
  });
  return (write, error) => {
    const name = nameOf(write);
    // As in Istio, attempts have the name of the webhook, and the others that of the configuration.
    attempts.add({ name: injectionWebhook });
    if (error === undefined) return;
    failures.add({ name, reason: "webhook_update_failure" });
    // A failed write is repeated for as long as it is needed.
    retries.add({ name });
  };
}

/** Returns a counter of CA bundles that cannot be loaded, by the name of Istio (pkg/webhooks/validation/controller). */
export function caBundleErrors(meter: Meter): () => void {
  const errors = meter.counter({
    name: "galley_validation_config_load_error",
    help: "k8s webhook configuration (re)load error",
    labels: ["reason"],
  });
  return () => errors.add({ reason: "could not verify caBundle" });
}

/** Counts the updates of validation webhooks, by the names of Istio (pkg/webhooks/validation/controller). */
export function validationWebhookMetrics(meter: Meter): WriteListener {
  const updates = meter.counter({
    name: "galley_validation_config_updates",
    help: "k8s webhook configuration updates",
  });
  const errors = meter.counter({
    name: "galley_validation_config_update_error",
    help: "k8s webhook configuration update error",
    labels: ["reason"],
  });
  return (_, error) => {
    if (error === undefined) updates.add();
    else errors.add({ reason: (error instanceof ApiError ? error.reason : undefined) ?? "" });
  };
}

/** Counters of auto-registration, by the names of Istio (pilot/pkg/autoregistration). */
export interface RegistrationMetrics {
  /** Counts a WorkloadEntry that was created. */
  registered(): void;
  /** Counts a registered WorkloadEntry whose workload has returned. */
  updated(): void;
  /** Counts a registered WorkloadEntry whose workload has disconnected. */
  unregistered(): void;
  /** Counts a WorkloadEntry that was deleted after the grace period. */
  deleted(): void;
  failed(): void;
}

export function registrationMetrics(meter: Meter): RegistrationMetrics {
  const counter = (name: string, help: string): (() => void) => {
    const count = meter.counter({ name: `auto_registration_${name}_total`, help });
    return () => count.add();
  };
  return {
    registered: counter("success", "Total number of successful auto registrations."),
    updated: counter("updates", "Total number of auto registration updates."),
    unregistered: counter("unregister", "Total number of unregistrations."),
    deleted: counter("deletes", "Total number of auto registration cleaned up by periodic timer."),
    failed: counter("errors", "Total number of auto registration errors."),
  };
}

function nameOf(write: Write): string {
  return ("name" in write ? write.name.name : write.object.metadata?.name) ?? "";
}

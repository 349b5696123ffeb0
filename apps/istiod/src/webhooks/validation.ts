import { type AdmissionHandler, admissionHandler } from "@istiod/admission";
import type { Meter } from "@istiod/metrics";
import { addressGroup } from "@istiod/peer-address";
import {
  type ValidationEvent,
  type ValidationOptions,
  ValidationThread,
  validationWebhook,
  warningWebhook,
} from "@istiod/validation";
import type { Logger } from "pino";

/**
 * Returns the validation webhook, with its log lines and Istio's metrics.
 *
 * @param furtherWarnings warnings about objects that are not large
 */
export function validationHandler(
  log: Logger,
  meter: Meter,
  furtherWarnings: NonNullable<ValidationOptions["furtherWarnings"]>,
): AdmissionHandler {
  const labels = ["group", "version", "resource"];
  // Sources count the objects that they read in the same metrics.
  const passed = meter.counter({ name: "galley_validation_passed", help: "Valid objects.", labels });
  const failed = meter.counter({
    name: "galley_validation_failed",
    help: "Rejected objects.",
    labels: [...labels, "reason"],
  });
  const httpErrors = meter.counter({
    name: "galley_validation_http_error",
    help: "Requests to the validation webhook that were answered without a verdict.",
    labels: ["status"],
  });
  const onDecision = (event: ValidationEvent): void => {
    const { group, version, resource } = event.request.resource;
    if (event.reason === undefined) passed.add({ group, version, resource });
    // As in Istio, a dry run does not count as failed.
    else if (!event.request.dryRun) failed.add({ group, version, resource, reason: event.reason });
    logDecision(log, event);
  };
  const thread = new ValidationThread({ onDecision });
  return admissionHandler({
    groupOf: addressGroup,
    admit: validationWebhook({ onDecision, furtherWarnings }),
    answerLarge: (body, context) => thread.answer(body, context),
    onError: (error, status) => {
      httpErrors.add({ status: String(status) });
      log.info({ err: error, status }, `validation request rejected: ${error.message}`);
    },
  });
}

/** Objects in reviews of more bytes get no warnings: an API server ignores that they are not answered. */
const maxWarnedBytes = 512 * 1024;

/** Returns the webhook that only warns, about objects that others validate. */
export function warningHandler(
  log: Logger,
  warningsOf: NonNullable<ValidationOptions["furtherWarnings"]>,
): AdmissionHandler {
  return admissionHandler({
    groupOf: addressGroup,
    admit: warningWebhook({ furtherWarnings: warningsOf }),
    maxBodyBytes: maxWarnedBytes,
    onError: (err, status) => log.info({ err, status }, `request for warnings rejected: ${err.message}`),
  });
}

function logDecision(log: Logger, { request, reason, message, isProbe }: ValidationEvent): void {
  if (reason === undefined || isProbe) return;
  const suffix = request.dryRun ? " (dry run)" : "";
  if (reason === "unsupported_operation") log.warn(`unsupported webhook operation ${request.operation}${suffix}`);
  else log.info(`${message}${suffix}`);
}

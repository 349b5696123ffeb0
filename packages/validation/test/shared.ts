import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type AdmissionRequest, type AdmissionResponse, readReview } from "@istiod/admission";
import { validationWebhook, type ValidationEvent } from "@istiod/validation";

/** The folder of reference cases beside the repository, or undefined where it is absent. */
export function sharedFolder(...parts: readonly string[]): string | undefined {
  const repository = resolve(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
  const folder = join(repository, "..", "shared", ...parts);
  return existsSync(folder) ? folder : undefined;
}

/** Returns the webhook's answer to a review of an object. */
export async function answerTo(
  object: unknown,
  request: object = {},
  onDecision: (event: ValidationEvent) => void = () => undefined,
): Promise<AdmissionResponse> {
  const review = {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: { uid: "1", operation: "CREATE", namespace: "shop", object, ...request },
  };
  const read: AdmissionRequest = readReview(Buffer.from(JSON.stringify(review))).request;
  const context = { url: new URL("http://localhost/validate"), signal: new AbortController().signal };
  return validationWebhook({ onDecision })(read, context);
}

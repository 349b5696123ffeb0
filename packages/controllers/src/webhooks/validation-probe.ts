import { type ApiClient, createObject, type KubernetesObject } from "@istiod/kubernetes";

/** Outcome of the dry run of an object that the validation webhook must reject. */
export interface ProbeResult {
  readonly isRejected: boolean;
  /** The reason why the webhook is not ready, or why it counts as ready although it did not answer. */
  readonly reason: string;
}

export interface ProbeOptions {
  readonly client: ApiClient;
  /** Namespace of istiod. */
  readonly namespace: string;
  readonly revision: string;
  readonly signal: AbortSignal;
}

const gateways = { group: "networking.istio.io", version: "v1", kind: "Gateway", plural: "gateways", namespaced: true };

/**
 * Creates an object in a dry run that istiod's webhook rejects because of an annotation, and that is valid otherwise,
 * so that no schema rejects it first. Source: pkg/webhooks/validation/controller/controller.go.
 */
export async function probeValidation({ client, namespace, revision, signal }: ProbeOptions): Promise<ProbeResult> {
  const gateway: KubernetesObject & { readonly spec: object } = {
    metadata: {
      generateName: "istiod-validation-probe-",
      namespace,
      labels: { "istio.io/rev": revision },
      annotations: { "internal.istio.io/webhook-always-reject": "true" },
    },
    spec: {
      selector: { "istio.io/gateway": "none" },
      servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["example.com"] }],
    },
  };
  try {
    await createObject(client, gateways, gateway, { dryRun: true, signal });
    return { isRejected: false, reason: "the invalid object was not rejected" };
  } catch (error) {
    return verdictOf((error as Error).message);
  }
}

function verdictOf(message: string): ProbeResult {
  if (message.includes("denied the request")) return { isRejected: true, reason: "" };
  // Nobody can create objects that the webhook would have to reject.
  if (/the server could not find the requested resource|404 page not found/.test(message))
    return { isRejected: true, reason: "the Gateway type is not served, so the webhook is assumed to be ready" };
  // No later attempt would tell more.
  if (message.includes("does not support dry run"))
    return { isRejected: true, reason: `the webhook is assumed to be ready: ${message}` };
  return { isRejected: false, reason: `rejected for another reason: ${message}` };
}

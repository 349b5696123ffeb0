import { reasonOf } from "@istiod/runtime";
import { jsonPatch } from "../apply/json-patch.js";
import { badRequest, StatusError } from "../http/status-error.js";
import { type ApiObject, isJsonObject, type JsonObject } from "../storage/object.js";
import { type Admission, type AdmissionRequest, newUid, type ServerState } from "../storage/server-state.js";
import { callWebhook } from "./call-webhook.js";
import { admissionReview, isCalled, type Webhook, webhooksOf } from "./webhook-rules.js";

/**
 * Admission by the webhooks that are configured. Mutating webhooks are called one after the other by the names of their
 * configurations, once each; validating webhooks at the same time.
 */
export class WebhookAdmission implements Admission {
  readonly #state: ServerState;

  constructor(state: Omit<ServerState, "admission">) {
    this.#state = { ...state, admission: this };
  }

  async mutate(request: AdmissionRequest): Promise<ApiObject | null> {
    let { object } = request;
    for (const webhook of webhooksOf(this.#state, "mutatingwebhookconfigurations")) {
      const current = { ...request, object };
      if (!isCalled(this.#state, webhook, current)) continue;
      const response = await this.#call(webhook, current);
      if (response !== undefined && object !== null) object = patchedBy(webhook, object, response);
    }
    return object;
  }

  async validate(request: AdmissionRequest): Promise<void> {
    const called = webhooksOf(this.#state, "validatingwebhookconfigurations").filter((webhook) =>
      isCalled(this.#state, webhook, request),
    );
    await Promise.all(called.map((webhook) => this.#call(webhook, request)));
  }

  /** Returns the response of a webhook, undefined if the call failed and the webhook may be ignored. */
  async #call(webhook: Webhook, request: AdmissionRequest): Promise<JsonObject | undefined> {
    if (webhook.hasConditions) throw new StatusError(501, "NotImplemented", `${webhook.name}: matchConditions`);
    if (request.options.dryRun && !["None", "NoneOnDryRun"].includes(webhook.sideEffects)) {
      throw badRequest(`admission webhook "${webhook.name}" does not support dry run`);
    }
    let response: JsonObject;
    try {
      response = await callWebhook(webhook, admissionReview(newUid(), request), this.#state.store);
    } catch (error) {
      if (webhook.failurePolicy === "Ignore") return undefined;
      const cause = reasonOf(error);
      const message = `failed calling webhook "${webhook.name}": failed to call webhook: ${cause}`;
      throw new StatusError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
    }
    if (Array.isArray(response.warnings)) for (const text of response.warnings) request.options.warn(String(text));
    if (response.allowed !== true) throw rejection(webhook, response);
    return response;
  }
}

function rejection({ name }: Webhook, { status }: JsonObject): StatusError {
  const { code, message = "", reason = "" } = isJsonObject(status) ? status : {};
  const explanation = String(message === "" ? reason : message);
  const denied = `admission webhook "${name}" denied the request`;
  const text = explanation === "" ? `${denied} without explanation` : `${denied}: ${explanation}`;
  return new StatusError(typeof code === "number" && code >= 400 ? code : 400, String(reason), text);
}

function patchedBy({ name }: Webhook, object: ApiObject, { patch, patchType }: JsonObject): ApiObject {
  if (patch === undefined || patch === null) return object;
  if (patchType !== "JSONPatch" || typeof patch !== "string") {
    throw new StatusError(500, "InternalError", `Internal error occurred: webhook "${name}": unsupported patch type`);
  }
  return jsonPatch(object, JSON.parse(Buffer.from(patch, "base64").toString()));
}

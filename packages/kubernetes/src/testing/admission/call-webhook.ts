import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIPv6 } from "node:net";
import { isJsonObject, type JsonObject } from "../storage/object.js";
import type { Store } from "../storage/store.js";
import { serviceEndpoint } from "./service-endpoint.js";
import type { Webhook } from "./webhook-rules.js";

interface WebhookEndpoint {
  readonly url: URL;
  /** Name that the certificate must have. */
  readonly servername: string;
}

/** Returns the address of a webhook. */
function endpointOf({ url, service }: JsonObject, store: Store): WebhookEndpoint {
  if (typeof url === "string") return { url: new URL(url), servername: new URL(url).hostname };
  if (!isJsonObject(service)) throw new Error("the webhook has neither a URL nor a Service");
  const { path = "/" } = service;
  const [namespace, name] = [String(service.namespace), String(service.name)];
  const { address, port } = serviceEndpoint(store, { namespace, name, port: Number(service.port ?? 443) });
  const host = isIPv6(address) ? `[${address}]` : address;
  return { url: new URL(String(path), `https://${host}:${port}`), servername: `${name}.${namespace}.svc` };
}

/**
 * Calls a webhook and returns the response of its AdmissionReview.
 *
 * @throws Error without a valid answer within the webhook's timeout
 */
export async function callWebhook(webhook: Webhook, review: JsonObject, store: Store): Promise<JsonObject> {
  const { url, servername } = endpointOf(webhook.clientConfig, store);
  url.searchParams.set("timeout", `${webhook.timeoutSeconds}s`);
  const { caBundle } = webhook.clientConfig;
  const ca = typeof caBundle === "string" ? Buffer.from(caBundle, "base64").toString() : undefined;
  const text = await post(url, servername, ca, JSON.stringify(review), webhook.timeoutSeconds * 1000);
  const answer: unknown = JSON.parse(text);
  if (!isJsonObject(answer) || answer.kind !== "AdmissionReview" || answer.apiVersion !== "admission.k8s.io/v1") {
    throw new Error("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview");
  }
  const { response } = answer;
  if (!isJsonObject(response)) throw new Error("webhook response was absent");
  const sent = isJsonObject(review.request) ? review.request.uid : undefined;
  if (response.uid !== sent) throw new Error(`expected response.uid="${String(sent)}", got "${String(response.uid)}"`);
  return response;
}

function post(url: URL, servername: string, ca: string | undefined, body: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:";
    const options = {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json",
        "Content-Length": Buffer.byteLength(body),
      },
      signal: AbortSignal.timeout(timeoutMs),
      agent: false as const,
    };
    const tls = { ...(/[a-z]/i.test(servername) && { servername }), ...(ca !== undefined && { ca }) };
    const request = (isTls ? httpsRequest : httpRequest)(url, { ...options, ...(isTls && tls) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const code = response.statusCode ?? 0;
        if (code === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(`the server answered with status ${code}`));
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

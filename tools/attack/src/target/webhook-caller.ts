import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";

/** The address of webhooks, and the root that a caller trusts. */
export interface WebhookAddress {
  readonly port: number;
  /** In PEM. */
  readonly root: string;
  /** Loopback address of the caller. */
  readonly localAddress: string;
}

/** The name that istiod's certificate has. */
export const webhookName = "istiod.istio-system.svc";

/** Returns the review of an object that is created. */
export function reviewOf(object: object): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "1", operation: "CREATE", namespace: "shop", object },
  });
}

/** Returns a VirtualService with these HTTP routes. */
export function virtualService(http: readonly object[]): object {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "cart", namespace: "shop" },
    spec: { hosts: ["cart"], http },
  };
}

/** Calls the validation webhook as an API server does, over connections that are kept. */
export class WebhookCaller {
  readonly #address: WebhookAddress;
  readonly #agent: Agent;

  constructor(address: WebhookAddress) {
    this.#address = address;
    this.#agent = new Agent({ keepAlive: true, ca: address.root, servername: webhookName });
  }

  /**
   * Returns whether the object of a review is allowed.
   *
   * @throws Error if the webhook does not answer within the API server's timeout of 10 seconds
   */
  async isAllowed(review: string): Promise<boolean> {
    const { status, body } = await this.#post(review);
    if (status !== 200) throw new Error(`the webhook answered ${status}: ${body}`);
    const { response } = JSON.parse(body) as { readonly response: { readonly allowed: boolean } };
    return response.allowed;
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(review: string): Promise<{ readonly status: number; readonly body: string }> {
    const { port, localAddress } = this.#address;
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(review) };
    const to = { host: "127.0.0.1", port, localAddress, path: "/validate", method: "POST", headers };
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(10_000);
      request({ ...to, agent: this.#agent, signal }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      })
        .on("error", reject)
        .end(review);
    });
  }
}

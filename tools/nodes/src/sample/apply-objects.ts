import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, ApiError, resourcePath, type ResourceType } from "@istiod/kubernetes";
import { discoverType } from "../kube/discover-type.js";

/** An object of any kind. */
export interface AnyObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

const INTERVAL = 250;

/** Applies objects one after the other, as `kubectl apply --server-side` does. */
export class ObjectApplier {
  readonly #client: ApiClient;
  readonly #signal: AbortSignal | undefined;
  readonly #types = new Map<string, ResourceType>();

  /** @param signal ends the waiting of `apply` */
  constructor(client: ApiClient, signal?: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /**
   * Waits for types that are not served yet, and for webhooks that do not answer yet.
   *
   * @throws ApiError if the server rejects an object, and Error after the timeout
   */
  async apply(objects: readonly AnyObject[], timeoutMs = 120_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    for (const object of objects) {
      while (!(await this.#tryApply(object, deadline))) await sleep(INTERVAL, undefined, { signal: this.#signal });
    }
  }

  /**
   * Returns the path of an object at the API server.
   *
   * @throws ApiError `not-found` if the type is not served
   */
  async pathOf(object: AnyObject): Promise<string> {
    const type = await this.#typeOf(object);
    if (!type) throw new ApiError("not-found", `the API server does not serve ${object.kind} of ${object.apiVersion}`);
    const { name, namespace } = object.metadata;
    return resourcePath(type, { name, ...(namespace !== undefined && { namespace }) });
  }

  async #tryApply(object: AnyObject, deadline: number): Promise<boolean> {
    try {
      await this.#client.json({
        method: "PATCH",
        path: await this.pathOf(object),
        query: { fieldManager: "istiod-nodes", force: true, fieldValidation: "Strict" },
        contentType: "application/apply-patch+yaml",
        body: JSON.stringify(object),
      });
      return true;
    } catch (error) {
      const isTemporary =
        error instanceof ApiError && ["not-found", "unavailable", "network", "timeout"].includes(error.code);
      if (!isTemporary || Date.now() > deadline) throw error;
      return false;
    }
  }

  async #typeOf({ apiVersion, kind }: AnyObject): Promise<ResourceType | undefined> {
    const key = `${apiVersion}/${kind}`;
    const known = this.#types.get(key);
    if (known) return known;
    const found = await discoverType(this.#client, apiVersion, kind);
    if (found) this.#types.set(key, found);
    return found;
  }
}

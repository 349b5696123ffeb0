import {
  type ApiClient,
  ApiError,
  createObject,
  type KubernetesObject,
  patchObject,
  readObject,
  type ResourceType,
  type RetryOptions,
  withRetries,
} from "@istiod/kubernetes";
import type { SecretStore, StoredSecret } from "./secret-root-store.js";

const secrets: ResourceType = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };

interface SecretObject extends KubernetesObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
}

/**
 * Returns the Secrets of a namespace. Its methods repeat requests after temporary errors.
 *
 * Its methods fail with ApiError: `forbidden` without the permission to get, create and patch Secrets, `not-found` if
 * the namespace of a new Secret does not exist, or the last temporary error.
 */
export function kubernetesSecrets(client: ApiClient, namespace: string, retries: RetryOptions = {}): SecretStore {
  return {
    namespace,
    async read(name) {
      const object = await unless("not-found", () =>
        withRetries(() => readObject<SecretObject>(client, secrets, { namespace, name }, retries.signal), retries),
      );
      return object && stored(name, object);
    },
    async create({ name, type, data }) {
      const object: SecretObject = { metadata: { namespace, name }, type, data: encode(data) };
      // After an attempt without an answer, the Secret may exist because of it: the caller reads it then.
      const created = await unless("already-exists", () =>
        withRetries(() => createObject(client, secrets, object, signalOf(retries)), retries),
      ).catch((error: unknown) => {
        throw isNotFound(error) ? missingNamespace(namespace, error) : error;
      });
      return created !== undefined;
    },
    async replace({ name, version }, data) {
      const merge = { metadata: { resourceVersion: version }, data: encode(data) };
      const replaced = await unless("conflict", () =>
        withRetries(() => patchObject(client, secrets, { namespace, name }, { merge }, signalOf(retries)), retries),
      );
      return replaced !== undefined;
    },
  };
}

const isNotFound = (error: unknown): error is ApiError => error instanceof ApiError && error.code === "not-found";

function missingNamespace(namespace: string, cause: ApiError): ApiError {
  const message = `namespace ${namespace} does not exist; create it: kubectl create namespace ${namespace}`;
  return new ApiError("not-found", message, { status: 404, cause });
}

async function unless<T>(code: ApiError["code"], operation: () => Promise<T>): Promise<T | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof ApiError && error.code === code) return undefined;
    throw error;
  }
}

function signalOf({ signal }: RetryOptions): { readonly signal?: AbortSignal } {
  return signal ? { signal } : {};
}

function stored(name: string, { type = "", data, metadata }: SecretObject): StoredSecret {
  const version = metadata?.resourceVersion;
  if (version === undefined) throw new ApiError("malformed", `Secret ${name}: metadata.resourceVersion is missing`);
  const texts = Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]);
  return { name, type, version, data: Object.fromEntries(texts) as Record<string, string> };
}

function encode(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}

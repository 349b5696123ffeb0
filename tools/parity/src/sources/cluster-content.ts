import { setTimeout } from "node:timers/promises";
import {
  type ApiClient,
  ApiError,
  apiVersionOf,
  type ApiRequest,
  resourcePath,
  type ResourceType,
  withRetries,
} from "@istiod/kubernetes";
import type { JsonObject } from "../scenario.js";
import type { FilledCluster, RejectedObject } from "./filled-cluster.js";
import { describeObject, impliedNamespaces, kindOf, metadataOf, typeOf } from "./scenario-objects.js";

interface StoredObject {
  readonly metadata: { readonly creationTimestamp: string; readonly resourceVersion: string };
}

interface DefinitionSpec {
  readonly group: string;
  readonly names: { readonly plural: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

interface HeldObject {
  /** The object as it was written. */
  readonly written: string;
  readonly object: JsonObject;
  readonly creationTimestamp: string;
}

/** Types of the objects that a server creates itself. */
const ownTypes: readonly ResourceType[] = [
  { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
  { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
  { group: "discovery.k8s.io", version: "v1", kind: "EndpointSlice", plural: "endpointslices", namespaced: true },
];

const pollInterval = 20;
const deadline = 60_000;

/** Namespaces that an API server does not delete. */
const permanentNamespaces: ReadonlySet<string> = new Set(["default", "kube-system"]);

/** The objects that this process wrote to an API server. */
export class ClusterContent {
  readonly #client: ApiClient;
  readonly #held = new Map<string, HeldObject>();

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** Creates a CustomResourceDefinition, and waits until its objects are served. */
  async define(definition: JsonObject): Promise<void> {
    await this.#json({ method: "POST", path: collectionPath(definition), body: JSON.stringify(definition) });
    const { group, names, versions } = definition["spec"] as unknown as DefinitionSpec;
    for (const { name } of versions.filter(({ served }) => served))
      await this.#until(async () => {
        const path = `/apis/${group}/${name}/${names.plural}`;
        return (await statusOf(this.#client.json({ path, query: { limit: 1 } }))) !== 404;
      }, `${names.plural}.${group}/${name} is not served`);
  }

  /**
   * Replaces all objects. The oldest are written first, but the server decides their age: the returned objects have the
   * times of creation that it gave them.
   */
  async replace(objects: readonly JsonObject[]): Promise<Pick<FilledCluster, "objects" | "rejected">> {
    const namespaces = impliedNamespaces(objects).map((name) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
    }));
    const wanted = [...namespaces, ...objects].toSorted(
      (a, b) => rankOf(a) - rankOf(b) || compareText(ageOf(a), ageOf(b)),
    );
    await this.#removeExcept(new Map(wanted.map((object) => [idOf(object), JSON.stringify(object)])));
    const rejected: RejectedObject[] = [];
    for (const object of wanted.filter((one) => !this.#held.has(idOf(one)))) {
      const reason = await this.#write(object);
      if (reason !== undefined) rejected.push({ object: describeObject(object), reason });
    }
    const written = objects.flatMap((object) => {
      const held = this.#held.get(idOf(object));
      if (held === undefined) return [];
      const metadata = { ...(object["metadata"] as JsonObject), creationTimestamp: held.creationTimestamp };
      return [{ ...object, metadata }];
    });
    return { objects: [...(await this.#ownObjects()), ...written], rejected };
  }

  /** Returns what the server itself created and configures proxies. */
  async #ownObjects(): Promise<readonly JsonObject[]> {
    const found = await Promise.all(
      ownTypes.map(async (type) => {
        const request = this.#client.json<{ readonly items: readonly JsonObject[] }>({ path: resourcePath(type) });
        return (await request).items.map((item) => ({ ...item, apiVersion: apiVersionOf(type), kind: type.kind }));
      }),
    );
    return found.flat().filter((object) => !this.#held.has(idOf(object)));
  }

  /** Deletes what is not wanted, or was written differently. Namespaces go last, and are gone when this returns. */
  async #removeExcept(wanted: ReadonlyMap<string, string>): Promise<void> {
    const removed = [...this.#held].filter(([id, { written }]) => wanted.get(id) !== written);
    for (const [id, { object }] of removed.toSorted(([, a], [, b]) => rankOf(b.object) - rankOf(a.object))) {
      const isKept = wanted.has(id) || permanentNamespaces.has(metadataOf(object).name);
      if (kindOf(object) === "Namespace" && isKept) this.#held.delete(id);
      else await this.#delete(object);
    }
  }

  /** Returns why the server rejected the object; undefined if it accepted it. */
  async #write(object: JsonObject): Promise<string | undefined> {
    const { resourceVersion: _, ...metadata } = object["metadata"] as JsonObject;
    const content: JsonObject = { ...object, metadata };
    try {
      const { creationTimestamp } = (await this.#create(content)).metadata;
      this.#held.set(idOf(object), { written: JSON.stringify(object), object, creationTimestamp });
      if (content["status"] !== undefined) await this.#writeStatus(content);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === undefined) throw error;
      // An object whose status was rejected is not the scenario's.
      if (this.#held.has(idOf(object))) await this.#delete(object);
      return error.message;
    }
  }

  async #writeStatus(object: JsonObject): Promise<void> {
    const body = JSON.stringify({ status: object["status"] ?? null });
    const contentType = "application/merge-patch+json";
    await this.#json({ method: "PATCH", path: pathOf(object, "status"), contentType, body });
  }

  async #delete(object: JsonObject): Promise<void> {
    this.#held.delete(idOf(object));
    const path = pathOf(object);
    await this.#json({ method: "DELETE", path, query: { gracePeriodSeconds: 0 } });
    await this.#until(async () => (await statusOf(this.#json({ path }))) === 404, `${path} is not deleted`);
  }

  async #create(object: JsonObject): Promise<StoredObject> {
    const create = { method: "POST", path: collectionPath(object), body: JSON.stringify(object) } as const;
    const path = pathOf(object);
    if (kindOf(object) !== "Namespace" || (await statusOf(this.#json({ path }))) === 404) return this.#json(create);
    const { resourceVersion } = (await this.#json({ path })).metadata;
    const metadata = { ...(object["metadata"] as JsonObject), resourceVersion };
    return this.#json({ method: "PUT", path, body: JSON.stringify({ ...object, metadata }) });
  }

  #json(request: ApiRequest): Promise<StoredObject> {
    return withRetries(() => this.#client.json<StoredObject>(request));
  }

  async #until(isDone: () => Promise<boolean>, fault: string): Promise<void> {
    const end = Date.now() + deadline;
    while (!(await isDone())) {
      if (Date.now() > end) throw new Error(`${fault} after ${deadline} ms`);
      await setTimeout(pollInterval);
    }
  }
}

/** Returns the status of an error answer; undefined if the request succeeded. */
async function statusOf(request: Promise<unknown>): Promise<number | undefined> {
  try {
    await request;
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status !== undefined) return error.status;
    throw error;
  }
}

function idOf(object: JsonObject): string {
  return `${typeOf(object).group} ${describeObject(object)}`;
}

function collectionPath(object: JsonObject): string {
  const { namespace } = metadataOf(object);
  return resourcePath(typeOf(object), namespace === undefined ? {} : { namespace });
}

function pathOf(object: JsonObject, subresource?: string): string {
  const { namespace, name } = metadataOf(object);
  return resourcePath(typeOf(object), {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(subresource !== undefined && { subresource }),
  });
}

/** Namespaces are written before their content. */
function rankOf(object: JsonObject): number {
  return kindOf(object) === "Namespace" ? 0 : 1;
}

function ageOf(object: JsonObject): string {
  return metadataOf(object).creationTimestamp ?? "";
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

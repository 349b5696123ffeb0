import { patchObject, patchTypes } from "../apply/patch.js";
import { deleteCollection, deleteObject } from "../storage/delete.js";
import { listObjects } from "../storage/list.js";
import { type ApiObject, isJsonObject } from "../storage/object.js";
import type { ServerState, Target } from "../storage/server-state.js";
import { objectKey, resourceKey } from "../storage/store.js";
import { apiVersionOfTarget, asVersion, createObject, updateObject } from "../storage/write.js";
import { type WatchOptions, WatchStream } from "../watch/watch-stream.js";
import type { Exchange } from "./exchange.js";
import type { FaultInjector } from "./fault-injector.js";
import { negotiate } from "./negotiate.js";
import { badRequest, methodNotAllowed, notFound, type Status, unsupportedMediaType } from "./status-error.js";
import { readDeletion, writeOptions } from "./write-options.js";

export interface ResourceRoutes {
  readonly state: ServerState;
  readonly faults: FaultInjector;
  readonly watch: WatchOptions;
}

type Representer = (object: unknown) => unknown;

const metadataForms = ["PartialObjectMetadata", "PartialObjectMetadataList"].map((kind) => ({
  kind,
  group: "meta.k8s.io",
  version: "v1",
}));

const asMetadata: Representer = (object) => {
  const { kind, apiVersion, metadata } = object as ApiObject;
  if (kind === "Status" && apiVersion === "v1") return object;
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
};

/** Answers a request for objects of a type. */
export async function serveResource(routes: ResourceRoutes, target: Target, exchange: Exchange): Promise<void> {
  const { method } = exchange;
  const form = negotiate(exchange.request.headers.accept, metadataForms);
  const represent: Representer = form === undefined ? (object) => object : asMetadata;
  if (target.name === undefined) return serveCollection(routes, target, exchange, represent);
  const named = { ...target, name: target.name };
  const { state } = routes;
  if (method === "GET" && exchange.isWatch) {
    return new WatchStream(exchange, routes.faults, routes.watch).start(state, target, exchange.query, represent);
  }
  if (method === "GET") return exchange.send(200, represent(getObject(state, named)));
  if (method === "PUT") return exchange.send(200, represent(await replace(state, named, exchange)));
  if (method === "PATCH") {
    const { object, isCreated } = await patch(state, named, exchange);
    return exchange.send(isCreated ? 201 : 200, represent(object));
  }
  if (method !== "DELETE" || target.subresource !== undefined) throw methodNotAllowed();
  const { deletion, options } = await readDeletion(exchange);
  await exchange.send(200, represent(await deleteObject(state, named, deletion, options)));
}

async function serveCollection(
  routes: ResourceRoutes,
  target: Target,
  exchange: Exchange,
  represent: Representer,
): Promise<void> {
  const { state } = routes;
  const { method, query } = exchange;
  if (method === "GET" && exchange.isWatch) {
    return new WatchStream(exchange, routes.faults, routes.watch).start(state, target, query, represent);
  }
  if (method === "GET") {
    const { metadata, items } = listObjects(state, target, query);
    return exchange.send(200, listBody(target, metadata, items, represent));
  }
  if (method === "POST" && (!target.type.namespaced || target.namespace !== undefined)) {
    const object = await readObject(target, exchange);
    return exchange.send(201, represent(await createObject(state, target, object, writeOptions(exchange))));
  }
  if (method !== "DELETE" || (target.type.namespaced && target.namespace === undefined)) throw methodNotAllowed();
  const { deletion, options } = await readDeletion(exchange);
  const deleted = await deleteCollection(state, target, query, deletion, options);
  await exchange.send(200, listBody(target, { resourceVersion: String(state.store.revision) }, deleted, represent));
}

function listBody(target: Target, metadata: unknown, items: readonly ApiObject[], represent: Representer): unknown {
  const isMetadata = represent === asMetadata;
  // Items of built-in lists carry neither kind nor apiVersion, unlike those of custom resources.
  const withoutType = ({ kind: _kind, apiVersion: _version, ...item }: ApiObject): unknown => item;
  return {
    kind: isMetadata ? "PartialObjectMetadataList" : `${target.type.kind}List`,
    apiVersion: isMetadata ? "meta.k8s.io/v1" : apiVersionOfTarget(target),
    metadata,
    items: items.map((item) => {
      const versioned = asVersion(item, target);
      if (isMetadata) return represent(versioned);
      return target.type.isCustom ? versioned : withoutType(versioned);
    }),
  };
}

function getObject({ store }: ServerState, target: Target & { readonly name: string }): ApiObject | Status {
  const object = store.get(resourceKey(target.type), objectKey(target.namespace, target.name));
  if (object === undefined) throw notFound(target.type, target.name);
  return asVersion(object, target);
}

async function readObject(target: Target, exchange: Exchange): Promise<ApiObject> {
  const mediaType = mediaTypeOf(exchange);
  if (mediaType !== "" && mediaType !== "application/json") throw unsupportedMediaType(["application/json"]);
  const body = await exchange.json();
  if (!isJsonObject(body)) throw badRequest("the object provided is unrecognized: it is not an object");
  // The path determines the type of objects that carry none.
  const { apiVersion = apiVersionOfTarget(target), kind = target.type.kind } = body;
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  return { ...body, apiVersion: String(apiVersion), kind: String(kind), metadata };
}

const mediaTypeOf = ({ request }: Exchange): string =>
  String(request.headers["content-type"] ?? "")
    .split(";")[0]
    ?.trim()
    .toLowerCase() ?? "";

async function replace(
  state: ServerState,
  target: Target & { readonly name: string },
  exchange: Exchange,
): Promise<ApiObject> {
  const object = await readObject(target, exchange);
  if (object.metadata.name === undefined) {
    throw badRequest("name must be provided");
  }
  return updateObject(state, { target, options: writeOptions(exchange), build: () => object, isPatch: false });
}

async function patch(state: ServerState, target: Target & { readonly name: string }, exchange: Exchange) {
  const mediaType = mediaTypeOf(exchange);
  const isApply = mediaType.startsWith("application/apply-patch");
  if (!isApply && !patchTypes(target).includes(mediaType)) throw unsupportedMediaType(patchTypes(target));
  const force = exchange.query.get("force") === "true";
  const options = writeOptions(exchange, isApply);
  return patchObject(state, { target, mediaType, patch: await exchange.json(), force, options });
}

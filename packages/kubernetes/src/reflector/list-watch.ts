import type { ApiClient, ApiRequest, ApiResponse } from "../client/api-client.js";
import { ApiError } from "../api-error.js";
import type { DecodedObject, WatchMessage } from "../decoding/decoder.js";
import { listDecoder, watchDecoder } from "../decoding/media-type.js";
import type { Projection } from "../decoding/projection.js";
import { resourcePath, type ResourceType } from "../resource-type.js";

/** The objects that a reflector follows. */
export interface ReflectorTarget {
  readonly client: ApiClient;
  readonly resource: ResourceType;
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Fields of the objects to decode. */
  readonly fields: Projection;
}

/** Objects per page, as in client-go. */
export const pageSize = 500;
/** Maximum time without data of a watch: servers send a bookmark about every minute. */
const watchIdleMs = 100_000;
/** Maximum time without data of the initial events of a watch. */
export const initialIdleMs = 10_000;

/** A received batch of objects of a list. */
export interface ListPart {
  readonly objects: readonly DecodedObject[];
  /** Version of the list, in its last part. */
  readonly resourceVersion?: string;
}

/** Lists all objects, in parts as they are received. @param limit objects per page; default: one page */
export async function* listObjects(
  target: ReflectorTarget,
  signal: AbortSignal,
  limit: number | undefined,
): AsyncGenerator<ListPart> {
  let token: string | undefined;
  do {
    const request = requestOf(target, signal, { limit, continue: token });
    const { headers, body } = await target.client.send(request);
    const decoder = listDecoder(headers["content-type"], target.fields);
    for await (const chunk of body) {
      const objects = inContext(request, () => decoder.push(chunk));
      yield { objects };
    }
    const { objects, metadata } = inContext(request, () => decoder.end());
    const { resourceVersion, continue: next } = metadata;
    token = next;
    if (token === "" && resourceVersion === "")
      throw new ApiError("malformed", `GET ${request.path}: a list without resourceVersion`);
    yield token === "" ? { objects, resourceVersion } : { objects };
  } while (token !== "");
}

/** A watch that the server accepted. */
export interface OpenWatch {
  /** Messages in batches as they are received. Ends when the server ends the watch. */
  readonly batches: AsyncIterable<readonly WatchMessage[]>;
}

export interface WatchOptions {
  /** Undefined: the watch begins with the objects that exist. */
  readonly resourceVersion?: string | undefined;
  readonly timeoutSeconds: number;
}

/** Opens a watch. */
export async function openWatch(
  target: ReflectorTarget,
  signal: AbortSignal,
  { resourceVersion, timeoutSeconds }: WatchOptions,
): Promise<OpenWatch> {
  const initial = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
  const request = requestOf(target, signal, {
    watch: true,
    allowWatchBookmarks: true,
    timeoutSeconds,
    ...(resourceVersion === undefined ? initial : { resourceVersion }),
  });
  const response = await target.client.send({ ...request, idleTimeoutMs: watchIdleMs });
  return { batches: readWatch(request, response, target.fields) };
}

async function* readWatch(
  request: ApiRequest,
  { headers, body }: ApiResponse,
  fields: Projection,
): AsyncGenerator<readonly WatchMessage[]> {
  const decoder = inContext(request, () => watchDecoder(headers["content-type"], fields));
  for await (const chunk of body) {
    const messages = inContext(request, () => decoder.push(chunk));
    if (messages.length > 0) yield messages;
  }
  const last = inContext(request, () => decoder.end());
  if (last.length > 0) yield last;
}

function requestOf(target: ReflectorTarget, signal: AbortSignal, query: NonNullable<ApiRequest["query"]>): ApiRequest {
  const { resource, namespace, labelSelector, fieldSelector } = target;
  return {
    path: resourcePath(resource, namespace === undefined ? {} : { namespace }),
    query: { ...query, labelSelector, fieldSelector },
    signal,
  };
}

/** Adds the path to errors of decoding. */
function inContext<R>({ path }: ApiRequest, decode: () => R): R {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ApiError) throw new ApiError(error.code, `GET ${path}: ${error.message}`, { cause: error });
    throw error;
  }
}

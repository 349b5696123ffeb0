import { ApiError } from "../api-error.js";
import type { ListDecoder, WatchDecoder } from "./decoder.js";
import { JsonListDecoder } from "./json-list.js";
import { JsonWatchDecoder } from "./json-watch.js";
import type { Projection } from "./projection.js";

/**
 * Returns a decoder for a list.
 *
 * @throws ApiError `malformed` if the media type is unknown
 */
export function listDecoder(contentType: string | undefined, projection: Projection): ListDecoder {
  assertKnown(contentType);
  return new JsonListDecoder(projection.fields);
}

/**
 * Returns a decoder for a watch.
 *
 * @throws ApiError `malformed` if the media type is unknown
 */
export function watchDecoder(contentType: string | undefined, projection: Projection): WatchDecoder {
  assertKnown(contentType);
  return new JsonWatchDecoder(projection.fields);
}

function assertKnown(contentType: string | undefined): void {
  if (contentType?.split(";")[0]?.trim() === "application/json") return;
  throw new ApiError("malformed", `the answer's content type is ${JSON.stringify(contentType ?? "").slice(0, 100)}`);
}

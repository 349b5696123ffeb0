import { ApiError } from "../api-error.js";
import type { FailureStatus } from "../client/status-error.js";

/** An object with the fields of a projection. */
export interface DecodedObject {
  /** Empty for objects of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** As in JSON, without `apiVersion` and `kind`. */
  readonly object: Record<string, unknown>;
}

/** The metadata of a list. */
export interface ListMetadata {
  readonly resourceVersion: string;
  /** Token of the next page; empty on the last one. */
  readonly continue: string;
}

/** Decodes the body of a list, object by object. */
export interface ListDecoder {
  /**
   * Adds received bytes, and returns the objects that are complete.
   *
   * @throws ApiError `malformed`
   */
  push(chunk: Uint8Array): DecodedObject[];
  /**
   * Returns the last objects and the list's metadata.
   *
   * @throws ApiError `malformed` if the list is incomplete
   */
  end(): { readonly objects: readonly DecodedObject[]; readonly metadata: ListMetadata };
}

/** A message of a watch. */
export type WatchMessage =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: DecodedObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly endsInitialEvents: boolean }
  | { readonly type: "ERROR"; readonly status: FailureStatus };

/** Decodes the body of a watch, message by message. */
export interface WatchDecoder {
  /**
   * Adds received bytes, and returns the messages that are complete.
   *
   * @throws ApiError `malformed`
   */
  push(chunk: Uint8Array): WatchMessage[];
  /**
   * Returns the last messages.
   *
   * @throws ApiError `malformed` if the last message is incomplete
   */
  end(): WatchMessage[];
}

/** Annotation of the bookmark after the initial events of a streaming list. */
export const initialEventsEnd = "k8s.io/initial-events-end";

/** Returns an object with its identity from its metadata. */
export function identify(object: Record<string, unknown>): DecodedObject {
  const metadata = object["metadata"] as Record<string, unknown> | null | undefined;
  const { name, namespace = "", uid, resourceVersion } = metadata ?? {};
  if (typeof name !== "string" || typeof namespace !== "string") throw withoutField("metadata.name");
  if (typeof uid !== "string") throw withoutField(`metadata.uid of ${namespace}/${name}`);
  if (typeof resourceVersion !== "string") throw withoutField(`metadata.resourceVersion of ${namespace}/${name}`);
  return { namespace, name, uid, resourceVersion, object };
}

function withoutField(field: string): ApiError {
  return new ApiError("malformed", `an object without ${field}`);
}

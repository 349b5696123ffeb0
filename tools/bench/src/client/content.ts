import { createHash, hash } from "node:crypto";
import { clusterType, listenerType, type Variant } from "@istiod/xds-server";
import {
  decodeResponse,
  endpointsOf,
  outlineResponse,
  type ReceivedResource,
  type ResponseOutline,
  routesOf,
} from "@istiod/xds-server/testing";

/** The state that a proxy keeps for a resource. */
export interface Entry {
  readonly name: string;
  /** Delta: the server's. */
  readonly version: string;
  /** Of its bytes. */
  readonly digest: string;
  /** Names of another type: of a cluster, that of its endpoints; of a listener, those of its routes. */
  readonly refersTo: readonly string[];
}

/** The contents of a response, shared by all proxies of a thread that receive the same. */
export interface Content {
  readonly entries: readonly Entry[];
  readonly removed: readonly string[];
}

const mostContents = 2000;
const known = new Map<string, Content>();

/**
 * Reads a response. What it carries is decoded for the first proxy that is sent it, and found by its digest for the
 * others.
 */
export function readResponse(variant: Variant, message: Uint8Array): ResponseOutline & { readonly carried: Content } {
  const outline = outlineResponse(message);
  const digest = createHash("sha1").update(variant);
  for (const part of outline.content) digest.update(part);
  const key = digest.digest("base64");
  let carried = known.get(key);
  if (carried === undefined) carried = contentOf(variant, message);
  else known.delete(key);
  known.set(key, carried);
  for (const oldest of known.keys()) {
    if (known.size <= mostContents) break;
    known.delete(oldest);
  }
  return { ...outline, carried };
}

function contentOf(variant: Variant, message: Uint8Array): Content {
  const { typeUrl, resources, removed } = decodeResponse(variant, message);
  const entries = resources.map((resource) => ({
    name: resource.name,
    version: resource.version,
    digest: hash("sha1", resource.bytes, "base64"),
    refersTo: referencesOf(typeUrl, resource),
  }));
  return { entries, removed };
}

const none: readonly string[] = [];

function referencesOf(typeUrl: string, { bytes }: ReceivedResource): readonly string[] {
  if (typeUrl === listenerType) return routesOf(bytes);
  const endpoints = typeUrl === clusterType ? endpointsOf(bytes) : undefined;
  return endpoints === undefined ? none : [endpoints];
}

import { createRegistry, fromBinary, type Registry, toJson } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { registry as istio } from "@istiod/istio-api/registry";
import { xdsType } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import type { Json } from "./json-difference.js";

const prefix = "type.googleapis.com/";

/** An xDS type with a generator. */
export interface ResourceType {
  readonly typeUrl: string;
  /** `cds`, `lds`, …; the full message name for types without a short name. */
  readonly short: string;
}

/** All types with a generator. */
export const resourceTypes: readonly ResourceType[] = Object.keys(generators).map((typeUrl) => ({
  typeUrl,
  short: xdsType(typeUrl)?.shortName ?? typeUrl.slice(prefix.length),
}));

/** Returns the type with a short name or type URL; undefined if there is none. */
export function resourceType(name: string): ResourceType | undefined {
  return resourceTypes.find(({ typeUrl, short }) => typeUrl === name || short === name.toLowerCase());
}

let messages: Registry | undefined;

/** Returns the registry of all message types that a resource can contain. */
export function messageRegistry(): Registry {
  return (messages ??= createRegistry(
    ...envoy,
    ...istio,
    ...Object.values(wellKnown).filter(
      (value) => typeof value === "object" && "kind" in value && value.kind === "message",
    ),
  ));
}

/**
 * Decodes a resource to JSON.
 *
 * @throws Error if its type, or the type of an `Any` in it, is unknown.
 */
export function resourceJson(typeUrl: string, bytes: Uint8Array): Json {
  const registry = messageRegistry();
  const schema = registry.getMessage(typeUrl.slice(prefix.length));
  if (schema === undefined) throw new Error(`unknown message type ${typeUrl}`);
  return toJson(schema, fromBinary(schema, bytes), { registry }) as Json;
}

import { createRegistry, fromBinary, type Registry, toJson } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { registry as istio } from "@istiod/istio-api/registry";
import { xdsType } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import type { Json } from "./json-difference.js";

const prefix = "type.googleapis.com/";

/** A type of resources that is generated for proxies. */
export interface ResourceType {
  readonly typeUrl: string;
  /** `cds`, `lds`, …; the message's name where there is no such word. */
  readonly short: string;
}

/** Every type that there is a generator for. */
export const resourceTypes: readonly ResourceType[] = Object.keys(generators).map((typeUrl) => ({
  typeUrl,
  short: xdsType(typeUrl)?.shortName ?? typeUrl.slice(prefix.length),
}));

/** The type of a short name or of a type URL. */
export function resourceType(name: string): ResourceType | undefined {
  return resourceTypes.find(({ typeUrl, short }) => typeUrl === name || short === name.toLowerCase());
}

let messages: Registry | undefined;

/** Every message type that a resource can hold. */
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
 * An encoded resource as JSON.
 *
 * @throws Error where its type, or one inside it, is not known.
 */
export function resourceJson(typeUrl: string, bytes: Uint8Array): Json {
  const registry = messageRegistry();
  const schema = registry.getMessage(typeUrl.slice(prefix.length));
  if (schema === undefined) throw new Error(`no message type ${typeUrl}`);
  return toJson(schema, fromBinary(schema, bytes), { registry }) as Json;
}

import { createRegistry, fromBinary, type Registry, toJson } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { registry as istio } from "@istiod/istio-api/registry";
import { extensionConfigType, xdsType } from "@istiod/resources";
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

/** The variable in which the configuration of a Wasm extension has the credentials of a registry. */
const pullSecretVariable = "ISTIO_META_WASM_IMAGE_PULL_SECRET";

/**
 * Decodes a resource to JSON, without the credentials that an extension configuration may contain.
 *
 * @throws Error if its type, or the type of an `Any` in it, is unknown.
 */
export function resourceJson(typeUrl: string, bytes: Uint8Array): Json {
  const registry = messageRegistry();
  const schema = registry.getMessage(typeUrl.slice(prefix.length));
  if (schema === undefined) throw new Error(`unknown message type ${typeUrl}`);
  const json = toJson(schema, fromBinary(schema, bytes), { registry }) as Json;
  return typeUrl === extensionConfigType ? withoutPullSecrets(json) : json;
}

function withoutPullSecrets(json: Json): Json {
  if (Array.isArray(json)) return json.map(withoutPullSecrets);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [
      key,
      key === pullSecretVariable && value !== "" ? "[redacted]" : withoutPullSecrets(value as Json),
    ]),
  );
}

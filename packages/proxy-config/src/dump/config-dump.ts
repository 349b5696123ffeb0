import { type DescMessage, fromJson, type JsonObject, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { anyJson, withoutUnknownTypes } from "./canonical-json.js";
import { ProxyConfigError } from "../errors.js";
import { messageTypes } from "./registry.js";

/** A proxy's configuration dump: the JSON of `envoy.admin.v3.ConfigDump` with redacted secrets. */
export interface ConfigDump {
  readonly configs: readonly JsonObject[];
}

/** A resource of a dump: the message with its known fields, and the complete JSON. */
export interface DumpedResource<T> {
  readonly message: T;
  readonly json: JsonObject;
}

/** The sections of a dump, by the name of their message in `envoy.admin.v3`. */
export type DumpSection =
  | "BootstrapConfigDump"
  | "ClustersConfigDump"
  | "EndpointsConfigDump"
  | "ListenersConfigDump"
  | "RoutesConfigDump"
  | "SecretsConfigDump"
  | "EcdsConfigDump";

/**
 * Parses the response of Envoy's admin endpoint `/config_dump`, or of istiod's `/debug/config_dump`. Accepts JSON and
 * .proto field names. Private keys and other secrets are replaced by `[redacted]`.
 *
 * @throws ProxyConfigError `invalid-json` or `unexpected-kind`
 */
export function readConfigDump(text: string): ConfigDump {
  const json = parseJson(text, "config dump");
  if ("cluster_statuses" in json || "clusterStatuses" in json)
    throw new ProxyConfigError(
      "unexpected-kind",
      "config dump: this is the output of /clusters?format=json; expected that of /config_dump",
    );
  const { configs } = json;
  if (!Array.isArray(configs))
    throw new ProxyConfigError(
      "unexpected-kind",
      "config dump: there is no list `configs`; expected the output of Envoy's /config_dump",
    );
  return configDump({ configs: configs.filter(isObject) });
}

/** Normalizes a parsed dump to the form that the functions of this package expect. */
export function configDump({ configs }: { readonly configs: readonly JsonObject[] }): ConfigDump {
  return { configs: configs.map(anyJson) };
}

/**
 * Returns a section of a dump. Envoy splits some sections into several parts, which are merged.
 *
 * @throws ProxyConfigError `missing-section`
 */
export function section(dump: ConfigDump, name: DumpSection): JsonObject {
  const found = optionalSection(dump, name);
  if (found === undefined)
    throw new ProxyConfigError(
      "missing-section",
      `config dump: there is no ${name}${name === "EndpointsConfigDump" ? "; ask for it with /config_dump?include_eds" : ""}`,
    );
  return found;
}

/** Returns a section of a dump; undefined if the dump does not have it. */
export function optionalSection(dump: ConfigDump, name: DumpSection): JsonObject | undefined {
  const [first, ...more] = dump.configs.filter(
    (config) => config["@type"] === `type.googleapis.com/envoy.admin.v3.${name}`,
  );
  return more.reduce<JsonObject | undefined>(
    (joined, piece) => ({
      ...joined,
      ...Object.fromEntries(Object.entries(piece).map(([key, value]) => [key, joinedValue(joined?.[key], value)])),
    }),
    first,
  );
}

function joinedValue(before: JsonValue | undefined, value: JsonValue): JsonValue {
  return Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
}

/** Returns the objects in a list field of a section. */
export function objectsIn(json: JsonObject, field: string): readonly JsonObject[] {
  const list = json[field];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Returns the object in a field. */
export function objectIn(json: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = json?.[field];
  return isObject(value) ? value : undefined;
}

/** Returns the resources in several lists of a section, each in a field of its entry. */
export function packedIn(json: JsonObject, lists: readonly string[], field: string): readonly JsonObject[] {
  return lists
    .flatMap((list) => objectsIn(json, list))
    .map((entry) => objectIn(entry, field))
    .filter((packed) => packed !== undefined);
}

/**
 * Decodes a packed resource. Ignores its type URL, so that older API versions are accepted.
 *
 * @throws ProxyConfigError `invalid-resource`
 */
export function dumpedResource<D extends DescMessage>(schema: D, packed: JsonObject): DumpedResource<MessageShape<D>> {
  const { "@type": _, ...json } = packed;
  return { message: decode(schema, json), json };
}

/**
 * Decodes a message, ignoring unknown fields.
 *
 * @throws ProxyConfigError `invalid-resource`
 */
export function decode<D extends DescMessage>(schema: D, json: JsonObject): MessageShape<D> {
  try {
    return fromJson(schema, withoutUnknownTypes(json), { registry: messageTypes(), ignoreUnknownFields: true });
  } catch (cause) {
    const name = typeof json["name"] === "string" ? ` ${json["name"]}` : "";
    throw new ProxyConfigError("invalid-resource", `${schema.name}${name}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Parses a JSON object.
 *
 * @throws ProxyConfigError `invalid-json` or `unexpected-kind`, naming the expected input
 */
export function parseJson(text: string, what: string): JsonObject {
  let json: JsonValue;
  try {
    json = JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new ProxyConfigError("invalid-json", `${what}: ${(cause as Error).message}`, { cause });
  }
  if (!isObject(json)) throw new ProxyConfigError("unexpected-kind", `${what}: expected a JSON object`);
  return json;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { type DescMessage, fromJson, type JsonObject, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { anyJson, withoutUnknownTypes } from "./canonical-json.js";
import { ProxyConfigError } from "./errors.js";
import { messageTypes } from "./registry.js";

/** The dump of a proxy's configuration: the JSON of `envoy.admin.v3.ConfigDump`, without secrets. */
export interface ConfigDump {
  readonly configs: readonly JsonObject[];
}

/** A resource of a dump: the message as far as its type is known, and all of its JSON. */
export interface DumpedResource<T> {
  readonly message: T;
  readonly json: JsonObject;
}

/** The parts of a dump, by the name of their message in `envoy.admin.v3`. */
export type DumpSection =
  | "BootstrapConfigDump"
  | "ClustersConfigDump"
  | "EndpointsConfigDump"
  | "ListenersConfigDump"
  | "RoutesConfigDump"
  | "SecretsConfigDump"
  | "EcdsConfigDump";

/**
 * Reads what Envoy's admin interface answers to `/config_dump`, or istiod to `/debug/config_dump`. Field names may be
 * those of JSON or of .proto files. Private keys and other secrets are replaced by `[redacted]`, if they are not
 * already.
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

/** A dump that is already parsed, in the form that the functions of this package expect. */
export function configDump({ configs }: { readonly configs: readonly JsonObject[] }): ConfigDump {
  return { configs: configs.map(anyJson) };
}

/**
 * A part of a dump. Envoy writes some parts in several pieces, which are joined.
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

/** A part of a dump; undefined if the dump does not have it. */
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

/** The objects in a list field of a part of a dump. */
export function objectsIn(json: JsonObject, field: string): readonly JsonObject[] {
  const list = json[field];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** The object in a field. */
export function objectIn(json: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = json?.[field];
  return isObject(value) ? value : undefined;
}

/** The resources in several lists of a part of a dump, each in a field of its entry. */
export function packedIn(json: JsonObject, lists: readonly string[], field: string): readonly JsonObject[] {
  return lists
    .flatMap((list) => objectsIn(json, list))
    .map((entry) => objectIn(entry, field))
    .filter((packed) => packed !== undefined);
}

/**
 * Decodes a packed resource. Its type URL is not looked at, so that those of older API versions are accepted.
 *
 * @throws ProxyConfigError `invalid-resource`
 */
export function dumpedResource<D extends DescMessage>(schema: D, packed: JsonObject): DumpedResource<MessageShape<D>> {
  const { "@type": _, ...json } = packed;
  return { message: decode(schema, json), json };
}

/**
 * Decodes a message, ignoring what is unknown.
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
 * @throws ProxyConfigError `invalid-json` or `unexpected-kind`, naming what was to be read
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

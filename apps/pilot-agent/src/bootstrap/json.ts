import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Returns the entries without those that are `undefined`. */
export function object(entries: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

/** Wraps a message in a `google.protobuf.Any`. */
export function typed(type: string, fields: JsonObject = {}): JsonObject {
  return { "@type": `type.googleapis.com/${type}`, ...fields };
}

/** Builds an extension: its name and typed configuration. */
export function extension(name: string, type: string, fields: JsonObject = {}): JsonObject {
  return { name, typed_config: typed(type, fields) };
}

export function socketAddress(address: string, port: number): JsonObject {
  return { socket_address: { protocol: "TCP", address, port_value: port } };
}

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** An object without the entries that are `undefined`. */
export function object(entries: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

/** A message inside a `google.protobuf.Any`, in JSON. */
export function typed(type: string, fields: JsonObject = {}): JsonObject {
  return { "@type": `type.googleapis.com/${type}`, ...fields };
}

/** A named extension with its configuration. */
export function extension(name: string, type: string, fields: JsonObject = {}): JsonObject {
  return { name, typed_config: typed(type, fields) };
}

export function socketAddress(address: string, port: number): JsonObject {
  return { socket_address: { protocol: "TCP", address, port_value: port } };
}

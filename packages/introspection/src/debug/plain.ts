import { type Message, toJson } from "@bufbuild/protobuf";
import { messageRegistry } from "@istiod/explain";

/**
 * Returns a value of the model as JSON: messages in their JSON form, maps as objects, sets as arrays, bytes in base64.
 */
export function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value) || value instanceof Set) return [...value].map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, of]) => [String(key), plain(of)]));
  const type = (value as Partial<Message>).$typeName;
  const schema = typeof type === "string" ? messageRegistry().getMessage(type) : undefined;
  if (schema !== undefined) return toJson(schema, value as Message, { registry: messageRegistry() });
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !key.startsWith("$"))
      .map(([key, of]) => [key, plain(of)]),
  );
}

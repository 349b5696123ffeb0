import type { DescMessage } from "@bufbuild/protobuf";
import { parseGoDuration, protobufDuration } from "@istiod/settings";
import { record } from "./json.js";

/** Rewrites the Go durations of a message's JSON to protobuf's form. Malformed values are unchanged. */
export function withProtobufDurations(schema: DescMessage, json: unknown): unknown {
  if (schema.typeName === "google.protobuf.Duration") {
    const nanoseconds = typeof json === "string" ? parseGoDuration(json) : undefined;
    return nanoseconds === undefined ? json : protobufDuration(nanoseconds);
  }
  const fields = record(json);
  if (fields === undefined || schema.typeName.startsWith("google.protobuf.")) return json;
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => {
      const field = schema.fields.find((f) => f.jsonName === key || f.name === key);
      const message = field?.message;
      if (field === undefined || message === undefined) return [key, value];
      if (field.fieldKind === "list" && Array.isArray(value))
        return [key, value.map((item: unknown) => withProtobufDurations(message, item))];
      const entries = field.fieldKind === "map" ? record(value) : undefined;
      if (entries !== undefined)
        return [
          key,
          Object.fromEntries(Object.entries(entries).map(([k, v]) => [k, withProtobufDurations(message, v)])),
        ];
      return [key, withProtobufDurations(message, value)];
    }),
  );
}

import { fromJson, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { withProtobufForms } from "../decoding/go-json.js";
import { findJsonFaults } from "../decoding/json-faults.js";
import type { Report } from "../decoding/report.js";

/** Decodes a message from its JSON form, with unknown fields as warnings. Returns undefined if it reported an error. */
export function decodeTolerantly<D extends DescMessage>(
  schema: D,
  json: unknown,
  report: Report,
): MessageShape<D> | undefined {
  const rewritten = withProtobufForms(schema, json);
  let rejected = false;
  findJsonFaults(schema, rewritten, {
    wordAt: report.wordAt,
    unknown: (path, message) => report.warning(path, `${message}${message.endsWith("?") ? " It" : "; it"} is ignored`),
    fault: (path, message) => {
      rejected = true;
      report.error(path, message);
    },
  });
  if (rejected) return undefined;
  try {
    return fromJson(schema, rewritten as JsonValue, { ignoreUnknownFields: true });
  } catch (cause) {
    report.error([], cause instanceof Error ? cause.message : String(cause));
    return undefined;
  }
}

/** Sets the fields of `target` that are present in `json`, from which `given` was decoded. */
export function override<D extends DescMessage>(
  schema: D,
  target: MessageShape<D>,
  given: MessageShape<D>,
  json: Readonly<Record<string, unknown>>,
): void {
  const to = reflect(schema, target, false);
  const from = reflect(schema, given, false);
  for (const field of schema.fields) {
    const value = json[field.jsonName] ?? json[field.name];
    if (value === undefined || value === null) continue;
    if (from.isSet(field)) to.set(field, from.get(field));
    else to.clear(field);
  }
}

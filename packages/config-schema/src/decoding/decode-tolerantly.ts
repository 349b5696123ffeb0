import { fromJson, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { reasonOf } from "@istiod/runtime";
import { withProtobufForms } from "./go-json.js";
import { findJsonFaults } from "./json-faults.js";
import type { Report } from "./report.js";

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
    report.error([], reasonOf(cause));
    return undefined;
  }
}

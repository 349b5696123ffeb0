import { fromJson, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { reasonOf } from "@istiod/runtime";
import { readsAlike, withProtobufForms } from "./go-json.js";
import { findJsonFaults } from "./json-faults.js";
import type { FieldPath, Report } from "./report.js";

/**
 * Decodes a message from its JSON form as Go's `jsonpb` does. Reports every fault as an error at its own path.
 * Unknown fields are skipped; returns undefined if there is any other fault.
 */
export function decodeMessage<D extends DescMessage>(
  schema: D,
  json: unknown,
  path: FieldPath,
  report: Report,
): MessageShape<D> | undefined {
  const first = readsAlike(schema, json) ? attempt(schema, json) : undefined;
  if (first?.message !== undefined) return first.message;
  const rewritten = withProtobufForms(schema, json);
  let located = 0;
  const fault = (at: FieldPath, message: string): void => {
    located++;
    report.error([...path, ...at], message);
  };
  findJsonFaults(schema, rewritten, { fault, unknown: fault, wordAt: (at) => report.wordAt?.([...path, ...at]) });
  const second = attempt(schema, rewritten);
  if (located === 0 && second.message === undefined) report.error(path, second.fault ?? "is not well formed");
  return second.message ?? attempt(schema, rewritten, true).message;
}

/** Decodes a message. Nearly every document is well-formed, so faults are searched for only on failure. */
function attempt<D extends DescMessage>(
  schema: D,
  json: unknown,
  ignoreUnknownFields = false,
): { readonly message?: MessageShape<D>; readonly fault?: string } {
  try {
    return { message: fromJson(schema, json as JsonValue, { ignoreUnknownFields }) };
  } catch (cause) {
    return { fault: reasonOf(cause) };
  }
}

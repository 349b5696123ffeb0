import { fromJson, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { withProtobufDurations } from "./go-json.js";
import { findJsonFaults } from "./json-faults.js";
import type { FieldPath, Report } from "./report.js";

/**
 * Decodes a message from its JSON form, with durations in protobuf's or Go's form. Reports every fault as an error at
 * its own path. Unknown fields are skipped; returns undefined if there is any other fault.
 */
export function decodeMessage<D extends DescMessage>(
  schema: D,
  json: unknown,
  path: FieldPath,
  report: Report,
): MessageShape<D> | undefined {
  const first = attempt(schema, json);
  if (first.message !== undefined) return first.message;
  const rewritten = withProtobufDurations(schema, json);
  const second = attempt(schema, rewritten);
  if (second.message !== undefined) return second.message;
  let located = 0;
  const fault = (at: FieldPath, message: string): void => {
    located++;
    report.error([...path, ...at], message);
  };
  findJsonFaults(schema, rewritten, { fault, unknown: fault, wordAt: (at) => report.wordAt?.([...path, ...at]) });
  if (located === 0) report.error(path, second.fault ?? "is not well formed");
  return attempt(schema, rewritten, true).message;
}

/** Decodes first and searches for faults only on failure, since nearly every document is well-formed. */
function attempt<D extends DescMessage>(
  schema: D,
  json: unknown,
  ignoreUnknownFields = false,
): { readonly message?: MessageShape<D>; readonly fault?: string } {
  try {
    return { message: fromJson(schema, json as JsonValue, { ignoreUnknownFields }) };
  } catch (cause) {
    return { fault: cause instanceof Error ? cause.message : String(cause) };
  }
}

import { fromJson, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { withProtobufDurations } from "./go-json.js";
import { findJsonFaults } from "./json-faults.js";
import type { FieldPath, Report } from "./report.js";

/**
 * A message from its JSON form, unknown fields refused. Undefined if it is not well formed; then each fault has been
 * reported at its own path. Durations may be in Go's form.
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
  findJsonFaults(schema, rewritten, { fault, unknown: fault });
  if (located === 0) report.error(path, second.fault ?? "is not well formed");
  return undefined;
}

/** Decoding is tried first and its faults looked for only afterwards, as nearly every document is well formed. */
function attempt<D extends DescMessage>(schema: D, json: unknown): { readonly message?: MessageShape<D>; readonly fault?: string } {
  try {
    return { message: fromJson(schema, json as JsonValue) };
  } catch (cause) {
    return { fault: cause instanceof Error ? cause.message : String(cause) };
  }
}

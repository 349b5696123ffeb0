import type { JsonValue } from "@bufbuild/protobuf";
import { stringify } from "yaml";

/** Formats a value as JSON with an indentation of four spaces, like istioctl, or as YAML with sorted keys. */
export function formatValue(value: JsonValue, format: "json" | "yaml"): string {
  return format === "json"
    ? `${JSON.stringify(value, undefined, 4)}\n`
    : stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });
}

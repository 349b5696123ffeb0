import type { DescMessage } from "@bufbuild/protobuf";
import { type FieldPath, findJsonFaults, type Report } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { messagesBeside, messageType } from "./message-types.js";

/**
 * Checks the value of a patch against the message that it is merged into. Values of a wrong type are errors. Unknown
 * fields and names of enumerations are warnings, because they may be of a later Envoy than this istiod knows.
 */
export function checkPatchValue(schema: DescMessage, value: unknown, path: FieldPath, report: Report): void {
  findJsonFaults(
    schema,
    value,
    {
      fault: (at, message) => report.error(at, message),
      unknown: (at, message) => report.warning(at, message),
      unknownName: (at, message, name, names) =>
        names.some((known) => letters(known) === letters(name))
          ? report.error(at, message)
          : report.warning(at, message),
      protojson: true,
      any: (at, json) => checkPacked(json, at, report),
    },
    path,
  );
}

/** Returns a name without case and separators, in which misspellings differ. */
function letters(name: string): string {
  return name.replace(/[-_ ]/g, "").toLowerCase();
}

/** Checks a packed message (`google.protobuf.Any`) in its JSON form. */
function checkPacked(json: unknown, path: FieldPath, report: Report): void {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return report.error(path, "is not a mapping, expected one with @type");
  const { "@type": url, ...fields } = json as Readonly<Record<string, unknown>>;
  if (url === undefined && Object.keys(fields).length === 0) return;
  if (typeof url !== "string" || !url.includes("/"))
    return report.error(
      [...path, "@type"],
      `is ${url === undefined ? "missing" : JSON.stringify(url)}, expected the URL of a message such as type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua`,
    );
  const name = url.slice(url.lastIndexOf("/") + 1);
  const schema = messageType(name);
  if (schema === undefined) return checkUnknownType(name, [...path, "@type"], report);
  const hasOwnForm = wellKnown.has(name);
  if (hasOwnForm && name !== "google.protobuf.Empty")
    checkPatchValue(schema, fields["value"], [...path, "value"], report);
  else if (!hasOwnForm) checkPatchValue(schema, fields, path, report);
}

/** Well-known types, which are packed under the key `value`. */
const wellKnown: ReadonlySet<string> = new Set(
  [
    ...["Any", "Duration", "Empty", "FieldMask", "ListValue", "Struct", "Timestamp", "Value"],
    ...["BoolValue", "BytesValue", "DoubleValue", "FloatValue", "Int32Value", "Int64Value"],
    ...["StringValue", "UInt32Value", "UInt64Value"],
  ].map((name) => `google.protobuf.${name}`),
);

/**
 * Reports a type that this istiod does not know. It is an error if the type cannot exist: Envoy has removed its v2 API,
 * and this istiod knows the package. Otherwise it may be of another build of Envoy.
 */
function checkUnknownType(name: string, path: FieldPath, report: Report): void {
  const beside = messagesBeside(name);
  if (/\.v2(?:alpha\d?)?\./.test(name) && name.startsWith("envoy."))
    return report.error(path, `is ${name} of Envoy's v2 API, which was removed; expected a type of the v3 API`);
  if (beside.length === 0)
    return report.warning(path, `is ${name}, which this istiod does not know: the message is not checked`);
  const [near] = nearestNames(name, beside, 1);
  report.error(
    path,
    `is ${name}, which does not exist${near === undefined ? `; expected one of ${beside.slice(0, maxListed).join(", ")}` : `; did you mean ${near}?`}`,
  );
}

const maxListed = 5;

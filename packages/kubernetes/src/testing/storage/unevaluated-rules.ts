import type { ServedType } from "../discovery/served-type.js";
import { StatusError } from "../http/status-error.js";
import { type ApiObject, isJsonObject, type JsonObject } from "./object.js";
import { resourceKey } from "./store.js";

/** Formats of strings that a real server checks, and this one does not. */
const uncheckedFormats = new Set(
  (
    "bsonobjectid byte cidr creditcard date duration email hexcolor hostname ipv4 ipv6 isbn isbn10 isbn13 mac rgbcolor " +
    "ssn uri uuid uuid3 uuid4 uuid5"
  ).split(" "),
);

/**
 * Rejects definitions and policies that have an effect on a real server, and none here: accepted, they would let
 * objects pass that a real server rejects.
 *
 * @throws StatusError 501 that names the object and the field
 */
export function rejectUnevaluated(type: ServedType, { kind, metadata, spec }: ApiObject): void {
  const field = unevaluatedFields[resourceKey(type)]?.(isJsonObject(spec) ? spec : {});
  if (field === undefined) return;
  const message = `${kind} ${metadata.name ?? ""}: ${field} is not evaluated by this server; start it with unevaluatedRules: "ignore" to accept it without effect`;
  throw new StatusError(501, "NotImplemented", message);
}

/** By resource: functions that return the first such field of a spec. */
const unevaluatedFields: Readonly<Record<string, (spec: JsonObject) => string | undefined>> = {
  "apiextensions.k8s.io/customresourcedefinitions": ({ versions, conversion }) => {
    if (isJsonObject(conversion) && conversion.strategy === "Webhook") return "spec.conversion.webhook";
    return listOf(versions)
      .map(({ schema }, at) =>
        isJsonObject(schema)
          ? unevaluatedIn(schema.openAPIV3Schema, `spec.versions[${at}].schema.openAPIV3Schema`)
          : undefined,
      )
      .find((field) => field !== undefined);
  },
  "admissionregistration.k8s.io/validatingadmissionpolicies": () => "spec.validations",
};

/** Returns the path of the first keyword of a schema that is not evaluated. */
function unevaluatedIn(schema: unknown, path: string): string | undefined {
  if (!isJsonObject(schema)) return undefined;
  if (listOf(schema["x-kubernetes-validations"]).length > 0) return `${path}.x-kubernetes-validations`;
  if (schema.multipleOf !== undefined) return `${path}.multipleOf`;
  if (typeof schema.format === "string" && uncheckedFormats.has(schema.format))
    return `${path}.format: ${schema.format}`;
  const { properties, items, additionalProperties, not } = schema;
  const parts: readonly (readonly [string, unknown])[] = [
    ...Object.entries(isJsonObject(properties) ? properties : {}).map(
      ([name, part]) => [`properties[${name}]`, part] as const,
    ),
    ["items", items],
    ["additionalProperties", additionalProperties],
    ["not", not],
    ...["allOf", "anyOf", "oneOf"].flatMap((name) =>
      listOf(schema[name]).map((part, at) => [`${name}[${at}]`, part] as const),
    ),
  ];
  for (const [name, part] of parts) {
    const field = unevaluatedIn(part, `${path}.${name}`);
    if (field !== undefined) return field;
  }
  return undefined;
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

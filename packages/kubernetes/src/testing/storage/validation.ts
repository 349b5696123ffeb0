import type { ServedType } from "../discovery/served-type.js";
import { type FieldError, invalid } from "../http/status-error.js";
import { validateMetadata } from "./metadata.js";
import { type ApiObject, isJsonObject, type JsonObject } from "./object.js";
import type { ServerState } from "./server-state.js";
import { resourceKey } from "./store.js";
import { rejectUnevaluated } from "./unevaluated-rules.js";

const required = (field: string): FieldError => ({ field, reason: "FieldValueRequired", message: "Required value" });
const invalidValue = (field: string, value: unknown, message: string): FieldError => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${message}`,
});

const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "";

/**
 * Validates an object of a built-in type, as far as tests need it, and the metadata of any object.
 *
 * @throws StatusError 422, or 501 for rules that this server does not evaluate
 */
export function validateObject(state: ServerState, type: ServedType, object: ApiObject): void {
  const { validation, rejectsUnevaluated } = state;
  validateMetadata(type, object);
  if (rejectsUnevaluated) rejectUnevaluated(type, object);
  if (type.isCustom || !validation) return;
  const errors = validators[resourceKey(type)]?.(object) ?? [];
  if (errors.length > 0) throw invalid(type.kind, type.group, object.metadata.name ?? "", errors);
}

const validators: Readonly<Record<string, (object: ApiObject) => readonly FieldError[]>> = {
  "/configmaps": ({ data, binaryData }) => [...keyErrors(data), ...keyErrors(binaryData)],
  "/pods": ({ spec }) => containerErrors(objectIn(spec).containers),
  "/secrets": secretErrors,
  "/services": ({ spec }) => serviceErrors(objectIn(spec)),
};

/** Keys become names of files. */
function keyErrors(data: unknown): readonly FieldError[] {
  return Object.keys(objectIn(data))
    .filter((key) => !/^[-._a-zA-Z0-9]{1,253}$/.test(key) || key === "." || key.startsWith(".."))
    .map((key) =>
      invalidValue(`data[${key}]`, key, "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"),
    );
}

const keysOfTypes: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
};
export const serviceAccountTokenType = "kubernetes.io/service-account-token";
export const accountAnnotation = "kubernetes.io/service-account.name";

function secretErrors({ type, data, metadata }: ApiObject): readonly FieldError[] {
  const missing = (keysOfTypes[String(type)] ?? []).filter((key) => objectIn(data)[key] === undefined);
  const errors = [...missing.map((key) => required(`data[${key}]`)), ...keyErrors(data)];
  if (type === serviceAccountTokenType && isEmpty(metadata.annotations?.[accountAnnotation]))
    errors.push(required(`metadata.annotations[${accountAnnotation}]`));
  return errors;
}

function containerErrors(value: unknown): readonly FieldError[] {
  const containers = objectsIn(value);
  if (containers.length === 0) return [required("spec.containers")];
  return containers.flatMap((container, at) =>
    ["name", "image"]
      .filter((field) => isEmpty(container[field]))
      .map((field) => required(`spec.containers[${at}].${field}`)),
  );
}

function serviceErrors({ type, clusterIP, ports: listed, externalName }: JsonObject): readonly FieldError[] {
  const ports = objectsIn(listed);
  const errors: FieldError[] = [];
  if (ports.length === 0 && clusterIP !== "None" && type !== "ExternalName") errors.push(required("spec.ports"));
  const names = new Set<unknown>();
  for (const [at, { name, port }] of ports.entries()) {
    const path = `spec.ports[${at}]`;
    if (!(Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535))
      errors.push(invalidValue(`${path}.port`, port ?? 0, "must be between 1 and 65535, inclusive"));
    if (isEmpty(name) && ports.length > 1) errors.push(required(`${path}.name`));
    if (!isEmpty(name) && names.has(name))
      errors.push({
        field: `${path}.name`,
        reason: "FieldValueDuplicate",
        message: `Duplicate value: ${JSON.stringify(name)}`,
      });
    names.add(name);
  }
  if (type === "ExternalName" && isEmpty(externalName)) errors.push(required("spec.externalName"));
  return errors;
}

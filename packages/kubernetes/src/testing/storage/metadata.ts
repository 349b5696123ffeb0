import { invalid, type FieldError } from "../http/status-error.js";
import type { ServedType } from "../discovery/served-type.js";
import { isJsonObject, type ApiObject } from "./object.js";

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const pathSegment = /^(?!\.\.?$)[^/%]+$/;

const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const invalidValue = (field: string, value: unknown, message: string): FieldError => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${message}`,
});

/** @throws StatusError 422 */
export function validateMetadata(type: ServedType, object: ApiObject): void {
  const { metadata } = object;
  const { name = "" } = metadata;
  const errors: FieldError[] = [];
  if (name === "") {
    errors.push({
      field: "metadata.name",
      reason: "FieldValueRequired",
      message: "Required value: name or generateName is required",
    });
  } else errors.push(...nameErrors(type, name));
  for (const [part, values] of [
    ["labels", metadata.labels],
    ["annotations", metadata.annotations],
  ] as const) {
    for (const [key, value] of Object.entries(values ?? {})) {
      const field = `metadata.${part}`;
      if (!qualifiedName.test(key) || key.length > 317) {
        errors.push(invalidValue(field, key, "name part must consist of alphanumeric characters, '-', '_' or '.'"));
      }
      if (part === "labels" && (!labelValue.test(value) || value.length > 63)) {
        errors.push(
          invalidValue(field, value, "a valid label must be an empty string or consist of alphanumeric characters"),
        );
      }
    }
  }
  for (const finalizer of metadata.finalizers ?? []) {
    if (!qualifiedName.test(finalizer))
      errors.push(invalidValue("metadata.finalizers", finalizer, "name part must be valid"));
  }
  if (errors.length > 0) throw invalid(type.kind, type.group, name, errors);
}

function nameErrors(type: ServedType, name: string): readonly FieldError[] {
  if (type.group === "rbac.authorization.k8s.io") {
    return pathSegment.test(name) ? [] : [invalidValue("metadata.name", name, "may not contain '/' or '%'")];
  }
  if (type.kind === "ClusterTrustBundle") return [];
  const isLabel = type.group === "" && (type.plural === "namespaces" || type.plural === "services");
  if (isLabel && (!label.test(name) || name.length > 63)) {
    return [
      invalidValue(
        "metadata.name",
        name,
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
      ),
    ];
  }
  return subdomain.test(name) && name.length <= 253 ? [] : [invalidValue("metadata.name", name, subdomainMessage)];
}

/** @throws StatusError 422 if fields of metadata change that cannot */
export function validateMetadataUpdate(type: ServedType, old: ApiObject, next: ApiObject): void {
  const errors: FieldError[] = [];
  const added = (next.metadata.finalizers ?? []).filter((name) => !(old.metadata.finalizers ?? []).includes(name));
  if (old.metadata.deletionTimestamp !== undefined && added.length > 0) {
    errors.push({
      field: "metadata.finalizers",
      reason: "FieldValueForbidden",
      message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
    });
  }
  errors.push(...immutableErrors(type, old, next));
  if (errors.length > 0) throw invalid(type.kind, type.group, next.metadata.name ?? "", errors);
}

function immutableErrors(type: ServedType, old: ApiObject, next: ApiObject): readonly FieldError[] {
  if (type.group === "" && type.plural === "secrets" && old.type !== next.type) {
    return [invalidValue("type", next.type, "field is immutable")];
  }
  if (type.group === "" && (type.plural === "secrets" || type.plural === "configmaps") && old.immutable === true) {
    const isSame = ["data", "binaryData"].every((field) => JSON.stringify(old[field]) === JSON.stringify(next[field]));
    if (!isSame || next.immutable !== true) {
      return [
        {
          field: "data",
          reason: "FieldValueForbidden",
          message: "Forbidden: field is immutable when `immutable` is set",
        },
      ];
    }
  }
  if (type.plural.endsWith("rolebindings") && JSON.stringify(old.roleRef) !== JSON.stringify(next.roleRef)) {
    return [invalidValue("roleRef", next.roleRef, "cannot change roleRef")];
  }
  const [oldSpec, spec] = [old.spec, next.spec];
  if (type.group === "" && type.plural === "services" && isJsonObject(oldSpec) && isJsonObject(spec)) {
    const wasAllocated = oldSpec.clusterIP !== undefined && oldSpec.type !== "ExternalName";
    if (wasAllocated && spec.type !== "ExternalName" && spec.clusterIP !== oldSpec.clusterIP) {
      return [invalidValue("spec.clusterIPs[0]", spec.clusterIP ?? null, "may not change once set")];
    }
  }
  return [];
}

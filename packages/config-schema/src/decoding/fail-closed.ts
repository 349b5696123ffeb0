import type { ConfigObject } from "../config-object.js";
import type { Kind } from "../kinds/kind.js";
import { isLowerCaseLabel, isMixedCaseSubdomain } from "../validation/kubernetes/names.js";
import { record } from "./json.js";
import type { Report } from "./report.js";

/** Identity of a rejected object, as far as it can be read. */
export interface RejectedIdentity {
  readonly namespace: string;
  /** Empty if it cannot be read. */
  readonly name: string;
  readonly cluster: string;
}

/**
 * Returns the object that applies in place of a rejected object without a good version: the most restrictive one of its
 * kind, for the selection that can be read with certainty, or else for the whole namespace. Undefined if the object
 * certainly does not restrict.
 *
 * @param body the rejected object; undefined if it cannot be parsed
 */
export function failClosed(
  kind: Kind,
  identity: RejectedIdentity,
  body: Readonly<Record<string, unknown>> | undefined,
): ConfigObject<unknown, unknown> | undefined {
  for (const spec of kind.failClosed?.substitutes(body) ?? []) {
    try {
      const object = validObject(kind, identity, spec);
      if (object !== undefined) return object;
    } catch {
      // The selection cannot be read with certainty. The next substitute selects more.
    }
  }
  return undefined;
}

function validObject(
  kind: Kind,
  { namespace, name, cluster }: RejectedIdentity,
  spec: Readonly<Record<string, unknown>>,
): ConfigObject<unknown, unknown> | undefined {
  let isValid = true;
  const report: Report = { error: () => void (isValid = false), warning: () => undefined };
  const apiVersion = `${kind.group}/${kind.versions[0]}`;
  const content = kind.decode({ apiVersion, kind: kind.kind, namespace, name, body: { spec } }, report);
  if (content === undefined || !isValid) return undefined;
  const object: ConfigObject<unknown, unknown> = {
    kind: kind.kind,
    namespace,
    name,
    labels: {},
    annotations: {},
    creationTimestamp: 0,
    spec: content.spec,
    cluster,
  };
  kind.validate?.(object, report);
  return isValid ? object : undefined;
}

/** Reports whether a value can be the name of an object. */
export function isReadableName(value: unknown): value is string {
  return typeof value === "string" && isMixedCaseSubdomain(value);
}

/** Reports whether a value can be the name of a namespace. */
export function isReadableNamespace(value: unknown): value is string {
  return typeof value === "string" && isLowerCaseLabel(value);
}

/** Returns the name of a rejected object; empty if it cannot be read. */
export function readableName(body: Readonly<Record<string, unknown>>): string {
  const name = record(body["metadata"])?.["name"];
  return isReadableName(name) ? name : "";
}

/** Returns the namespace of a rejected object, `default` without one; undefined if it cannot be read. */
export function readableNamespace(body: Readonly<Record<string, unknown>>): string | undefined {
  const namespace = record(body["metadata"])?.["namespace"] ?? "";
  if (namespace === "") return "default";
  return isReadableNamespace(namespace) ? namespace : undefined;
}

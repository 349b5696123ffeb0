import { badRequest } from "../http/status-error.js";
import type { ServedType } from "../discovery/served-type.js";
import type { ApiObject } from "./object.js";

export type Predicate = (object: ApiObject) => boolean;

const keyPattern = /^([a-zA-Z0-9.-]+\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const valuePattern = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const isKey = (key: string): boolean => keyPattern.test(key) && key.length <= 317;
const isValue = (value: string): boolean => valuePattern.test(value) && value.length <= 63;

type Labels = Readonly<Record<string, string>>;

/** Splits a selector at commas outside of parentheses. */
const requirements = (selector: string): readonly string[] =>
  selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");

/**
 * Returns a predicate of labels.
 *
 * @throws StatusError 400 for a selector that cannot be parsed
 */
export function labelSelector(selector: string): (labels: Labels) => boolean {
  const parts = requirements(selector).map(labelRequirement);
  return (labels) => parts.every((matches) => matches(labels));
}

function labelRequirement(part: string): (labels: Labels) => boolean {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  if (set !== null) {
    const [, key = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    if (!isKey(key) || !values.every(isValue)) throw unparsable(part);
    const isIn = operator === "in";
    return (labels) => values.includes(labels[key] ?? "\0") === isIn;
  }
  const equality = /^([^\s=!]+)\s*(==?|!=)\s*(\S*)$/.exec(part);
  if (equality !== null) {
    const [, key = "", operator, value = ""] = equality;
    if (!isKey(key) || !isValue(value)) throw unparsable(part);
    const isEqual = operator !== "!=";
    return (labels) => (labels[key] === value) === isEqual;
  }
  const isAbsent = part.startsWith("!");
  const key = isAbsent ? part.slice(1).trim() : part;
  if (!isKey(key)) throw unparsable(part);
  return (labels) => Object.hasOwn(labels, key) !== isAbsent;
}

const unparsable = (part: string): Error =>
  badRequest(`unable to parse requirement: found '${part}', expected a key, a comparison or a set`);

interface LabelSelectorObject {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Reports whether labels match a LabelSelector of an object. An empty or absent selector matches everything. */
export function matchesSelectorObject(selector: LabelSelectorObject | undefined, labels: Labels): boolean {
  const byLabels = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  const byExpressions = (selector?.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === "Exists") return value !== undefined;
    if (operator === "DoesNotExist") return value === undefined;
    return (value !== undefined && values.includes(value)) === (operator === "In");
  });
  return byLabels && byExpressions;
}

type Field = (object: ApiObject) => string;

const pathField = (path: string): Field => {
  const names = path.split(".");
  return (object) => {
    let value: unknown = object;
    for (const name of names) value = (value as Record<string, unknown> | undefined)?.[name];
    return value === undefined || value === null ? "" : String(value);
  };
};

/** A boolean that is absent is false. */
const booleanField = (path: string): Field => {
  const field = pathField(path);
  return (object) => (field(object) === "true" ? "true" : "false");
};

const firstField = (...fields: readonly Field[]): Field => {
  return (object) => fields.map((field) => field(object)).find((value) => value !== "") ?? "";
};

const fieldsAt = (...paths: readonly string[]): Readonly<Record<string, Field>> =>
  Object.fromEntries(paths.map((path) => [path, pathField(path)]));

const involvedObject = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const fieldsOfTypes: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  Pod: {
    ...fieldsAt("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    ...fieldsAt("status.phase", "status.nominatedNodeName"),
    "spec.hostNetwork": booleanField("spec.hostNetwork"),
    "status.podIP": firstField(pathField("status.podIP"), pathField("status.podIPs.0.ip")),
  },
  Secret: fieldsAt("type"),
  Namespace: fieldsAt("status.phase"),
  Node: { "spec.unschedulable": booleanField("spec.unschedulable") },
  Service: fieldsAt("spec.clusterIP", "spec.type"),
  Event: {
    ...fieldsAt(...involvedObject.map((name) => `involvedObject.${name}`), "reason", "type"),
    reportingComponent: pathField("reportingComponent"),
    source: firstField(pathField("source.component"), pathField("reportingComponent")),
  },
  CertificateSigningRequest: fieldsAt("spec.signerName"),
  ClusterTrustBundle: fieldsAt("spec.signerName"),
};

/**
 * Returns a predicate of objects of a type.
 *
 * @throws StatusError 400 for a field that the type does not support
 */
export function fieldSelector(selector: string, type: ServedType): Predicate {
  const supported: Readonly<Record<string, Field>> = {
    ...fieldsAt("metadata.name", ...(type.namespaced ? ["metadata.namespace"] : [])),
    ...(type.isCustom ? {} : fieldsOfTypes[type.kind]),
  };
  // Commas that are not escaped by a backslash separate terms; in values, these and = must be escaped.
  const terms = (selector.match(/(?:\\.|[^\\,])+/g) ?? []).map((term) => term.trim()).filter((term) => term !== "");
  const parts = terms.map((part): Predicate => {
    const match = /^([^=!]+)(==?|!=)((?:\\[\\,=]|[^\\,=])*)$/.exec(part);
    if (match === null) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
    const [, name = "", operator, escaped = ""] = match;
    const value = escaped.replaceAll(/\\(.)/g, "$1");
    const field = Object.hasOwn(supported, name) ? supported[name] : undefined;
    if (field === undefined) throw badRequest(`field label not supported: ${name}`);
    const isEqual = operator !== "!=";
    return (object) => (field(object) === value) === isEqual;
  });
  return (object) => parts.every((matches) => matches(object));
}

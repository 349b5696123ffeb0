import { isJsonObject, type JsonObject } from "../storage/object.js";

/** Key field of the items of a list with `listType=map`, and its default. */
export interface KeyField {
  readonly name: string;
  readonly default?: unknown;
}

/** The rules by which the fields below a path are merged and owned. */
export interface FieldSchema {
  /** Lists: `atomic`, `set`, or keys of items. */
  readonly list: "atomic" | "set" | readonly KeyField[];
  /** Maps: owned and replaced as a whole. */
  readonly isAtomicMap: boolean;
  /** Returns the schema of a map's entry. */
  readonly field: (name: string) => FieldSchema;
  /** Reports whether an entry is a declared field, which exists by its content, and not one of a free map. */
  readonly isDeclared: (name: string) => boolean;
  readonly item: () => FieldSchema;
}

const listKeys: Readonly<Record<string, readonly KeyField[]>> = {
  conditions: [{ name: "type" }],
  containers: [{ name: "name" }],
  env: [{ name: "name" }],
  ephemeralContainers: [{ name: "name" }],
  hostAliases: [{ name: "ip" }],
  imagePullSecrets: [{ name: "name" }],
  initContainers: [{ name: "name" }],
  ownerReferences: [{ name: "uid" }],
  podIPs: [{ name: "ip" }],
  secrets: [{ name: "name" }],
  topologySpreadConstraints: [{ name: "topologyKey" }, { name: "whenUnsatisfiable" }],
  volumeDevices: [{ name: "devicePath" }],
  volumeMounts: [{ name: "mountPath" }],
  volumes: [{ name: "name" }],
  webhooks: [{ name: "name" }],
};
const containerLists = new Set(["containers", "initContainers", "ephemeralContainers"]);
const atomicMaps = new Set([
  "claimRef",
  "configMapKeyRef",
  "fieldRef",
  "involvedObject",
  "labelSelector",
  "namespaceSelector",
  "nodeSelector",
  "objectSelector",
  "podSelector",
  "resourceFieldRef",
  "roleRef",
  "secretKeyRef",
  "selector",
  "targetRef",
]);

/** Returns the schema below a field of a built-in kind, by the names that the API uses. */
function namedField(name: string, parent: string, kind: string): FieldSchema {
  const portKeys = (): FieldSchema["list"] => {
    const protocol = { name: "protocol", default: "TCP" };
    if (containerLists.has(parent)) return [{ name: "containerPort" }, protocol];
    return kind === "Service" && parent === "spec" ? [{ name: "port" }, protocol] : "atomic";
  };
  const list = name === "ports" ? portKeys() : name === "finalizers" ? "set" : (listKeys[name] ?? "atomic");
  return {
    list,
    isAtomicMap: atomicMaps.has(name) || (name === "ownerReferences" && parent === ""),
    field: (child) => namedField(child, name, kind),
    isDeclared: () => true,
    // Items see the list's name as their parent, so that ports of containers are recognized.
    item: () => ({ ...namedField("", name, kind), field: (child) => namedField(child, name, kind) }),
  };
}

const metadataSchema = namedField("metadata", "", "");

/** Returns the schema of a built-in kind. */
export function builtInSchema(kind: string): FieldSchema {
  return { ...namedField("", "", kind), field: (name) => namedField(name, "", kind) };
}

/** Returns the schema of a custom resource by its `openAPIV3Schema`. Without one, lists are atomic. */
export function customSchema(schema: JsonObject | undefined): FieldSchema {
  const root = structuralField(schema);
  return {
    ...root,
    field: (name) => (name === "metadata" ? metadataSchema : root.field(name)),
    isDeclared: (name) => ["metadata", "apiVersion", "kind"].includes(name) || root.isDeclared(name),
  };
}

function structuralField(schema: JsonObject | undefined): FieldSchema {
  const properties = isJsonObject(schema?.properties) ? schema.properties : {};
  const values = isJsonObject(schema?.additionalProperties) ? schema.additionalProperties : undefined;
  const items = isJsonObject(schema?.items) ? schema.items : undefined;
  const declared = (name: string): JsonObject | undefined => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isJsonObject(property) ? property : undefined;
  };
  return {
    list: listTypeOf(schema, items),
    isAtomicMap: schema?.["x-kubernetes-map-type"] === "atomic",
    field: (name) => structuralField(declared(name) ?? values),
    isDeclared: (name) => declared(name) !== undefined,
    item: () => structuralField(items),
  };
}

function listTypeOf(schema: JsonObject | undefined, items: JsonObject | undefined): FieldSchema["list"] {
  const type = schema?.["x-kubernetes-list-type"];
  if (type === "set") return "set";
  const keys = schema?.["x-kubernetes-list-map-keys"];
  if (type !== "map" || !Array.isArray(keys)) return "atomic";
  const properties = isJsonObject(items?.properties) ? items.properties : {};
  return keys.map((name: string) => {
    const property = properties[name];
    return { name, ...(isJsonObject(property) && { default: property.default }) };
  });
}

/** Returns the path element of a list's item, undefined if it lacks the keys. */
export function itemKey(item: unknown, list: Exclude<FieldSchema["list"], "atomic">): string | undefined {
  if (list === "set") return `v:${JSON.stringify(item)}`;
  if (!isJsonObject(item)) return undefined;
  const keys = list
    .map(({ name, default: fallback }) => [name, item[name] ?? fallback] as const)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return keys.length === 0 ? undefined : `k:${JSON.stringify(Object.fromEntries(keys))}`;
}

import type { ResourceType } from "@istiod/kubernetes";
import type { JsonObject } from "../scenario.js";

interface Metadata {
  readonly name: string;
  /** Undefined for objects of the whole cluster. */
  readonly namespace: string | undefined;
  readonly creationTimestamp: string | undefined;
}

/** Kinds without a namespace, of those that scenarios have. */
const clusterKinds: ReadonlySet<string> = new Set([
  "Namespace",
  "Node",
  "IngressClass",
  "GatewayClass",
  "CustomResourceDefinition",
]);

/** Groups of types that every API server has. */
const builtInGroups: ReadonlySet<string> = new Set(["", "discovery.k8s.io", "networking.k8s.io", "apps"]);

/** Returns the metadata of a document as `kubectl apply` takes it: in namespace `default` without one. */
export function metadataOf(object: JsonObject): Metadata {
  const metadata = (object["metadata"] ?? {}) as JsonObject;
  const text = (field: string): string | undefined => {
    const value = metadata[field];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return {
    name: text("name") ?? "",
    namespace: clusterKinds.has(kindOf(object)) ? undefined : (text("namespace") ?? "default"),
    creationTimestamp: text("creationTimestamp"),
  };
}

export function kindOf(object: JsonObject): string {
  return String(object["kind"]);
}

/** Returns a name for messages: `VirtualService shop/cart`. */
export function describeObject(object: JsonObject): string {
  const { namespace, name } = metadataOf(object);
  return `${kindOf(object)} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

/** Returns the type of an object's API version and kind. */
export function typeOf(object: JsonObject): ResourceType {
  const [version = "", group = ""] = String(object["apiVersion"]).split("/").toReversed();
  const kind = kindOf(object);
  return { group, version, kind, plural: pluralOf(kind), namespaced: !clusterKinds.has(kind) };
}

/** Returns the types of objects that are custom resources. */
export function customTypes(objects: readonly JsonObject[]): readonly ResourceType[] {
  const types = new Map<string, ResourceType>();
  for (const type of objects.map(typeOf)) {
    if (!builtInGroups.has(type.group)) types.set(`${type.group}/${type.version} ${type.kind}`, type);
  }
  return [...types.values()];
}

/** Returns the namespaces of objects that are not among them. */
export function impliedNamespaces(objects: readonly JsonObject[]): readonly string[] {
  const used = new Set(objects.map((object) => metadataOf(object).namespace).filter((name) => name !== undefined));
  for (const object of objects) if (kindOf(object) === "Namespace") used.delete(metadataOf(object).name);
  return [...used];
}

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`;
  return /(?:s|x|ch)$/.test(lower) ? `${lower}es` : `${lower}s`;
}

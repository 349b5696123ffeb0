import { isJsonObject, type ApiObject, type JsonObject } from "../storage/object.js";
import { resourceKey } from "../storage/store.js";
import { type ServerState, timeOf } from "../storage/server-state.js";
import { comparePriority } from "./discovery-documents.js";
import type { ServedType, ServedVersion } from "./served-type.js";

export const definitions = "apiextensions.k8s.io/customresourcedefinitions";
const cleanup = "customresourcecleanup.apiextensions.k8s.io";

/**
 * Serves the types of CustomResourceDefinitions once they are established, and removes a type with its objects when its
 * definition is deleted. Returns a function that stops it.
 */
export function startTypeController(state: ServerState): () => void {
  const pending = new Set<NodeJS.Immediate>();
  const later = (run: () => void): void => {
    const immediate = setImmediate(() => {
      pending.delete(immediate);
      run();
    });
    pending.add(immediate);
  };
  const stop = state.store.subscribe(definitions, ({ key, isDeleted }) => {
    if (!isDeleted) later(() => reconcile(state, key));
  });
  return () => {
    stop();
    for (const immediate of pending) clearImmediate(immediate);
  };
}

function reconcile(state: ServerState, key: string): void {
  const { store, types } = state;
  const definition = store.get(definitions, key);
  if (definition === undefined || !isJsonObject(definition.spec)) return;
  const type = typeOf(definition.spec);
  if (definition.metadata.deletionTimestamp !== undefined) return removeType(state, key, definition, type);
  const conflict = types.all.find(
    ({ group, kind, plural }) => group === type.group && kind === type.kind && plural !== type.plural,
  );
  const next = { ...definition, metadata: { ...definition.metadata }, status: statusOf(state, definition, conflict) };
  if (!(definition.metadata.finalizers ?? []).includes(cleanup)) {
    next.metadata.finalizers = [...(definition.metadata.finalizers ?? []), cleanup];
  }
  if (conflict === undefined) types.set(type);
  if (JSON.stringify(next) !== JSON.stringify(definition)) store.put(definitions, key, next);
}

function removeType({ store, types }: ServerState, key: string, definition: ApiObject, type: ServedType): void {
  const finalizers = definition.metadata.finalizers ?? [];
  if (!finalizers.includes(cleanup)) return;
  const resource = resourceKey(type);
  let isEmpty = true;
  for (const [objectKey, { metadata }] of store.list(resource).items) {
    if ((metadata.finalizers ?? []).length === 0) store.remove(resource, objectKey);
    else isEmpty = false;
  }
  if (!isEmpty) return;
  types.remove(type);
  const left = finalizers.filter((name) => name !== cleanup);
  if (left.length === 0) store.remove(definitions, key);
  else store.put(definitions, key, { ...definition, metadata: { ...definition.metadata, finalizers: left } });
}

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? (value as string[]) : []);

const versionsOf = ({ versions }: JsonObject): readonly JsonObject[] =>
  Array.isArray(versions) ? versions.filter(isJsonObject) : [];

function typeOf(spec: JsonObject): ServedType {
  const names = isJsonObject(spec.names) ? spec.names : {};
  const versions = versionsOf(spec)
    .filter(({ served }) => served === true)
    .map((version): ServedVersion => {
      const subresources = isJsonObject(version.subresources) ? version.subresources : {};
      const schema = isJsonObject(version.schema) ? version.schema.openAPIV3Schema : undefined;
      const hasStatus = subresources.status !== undefined;
      return { name: String(version.name), hasStatus, ...(isJsonObject(schema) && { schema }) };
    })
    .sort((a, b) => comparePriority(a.name, b.name));
  const kind = String(names.kind);
  return {
    group: String(spec.group),
    kind,
    plural: String(names.plural),
    singular: typeof names.singular === "string" ? names.singular : kind.toLowerCase(),
    namespaced: spec.scope === "Namespaced",
    shortNames: listOf(names.shortNames),
    categories: listOf(names.categories),
    versions,
    hasGeneration: true,
    isCustom: true,
  };
}

function statusOf(state: ServerState, { spec, status }: ApiObject, conflict: ServedType | undefined): JsonObject {
  const { names, ...rest } = isJsonObject(spec) ? spec : {};
  const old = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  const condition = (type: string, isTrue: boolean, reason: string, message: string): JsonObject => {
    const value = isTrue ? "True" : "False";
    const known = old.find((entry) => entry.type === type);
    const lastTransitionTime = known?.status === value ? known.lastTransitionTime : timeOf(state);
    return { type, status: value, lastTransitionTime, reason, message };
  };
  const isAccepted = conflict === undefined;
  const storedVersions = versionsOf(rest)
    .filter(({ storage }) => storage === true)
    .map(({ name }) => name);
  return {
    conditions: [
      isAccepted
        ? condition("NamesAccepted", true, "NoConflicts", "no conflicts found")
        : condition("NamesAccepted", false, "KindConflict", `"${conflict.kind}" is already in use`),
      isAccepted
        ? condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted")
        : condition("Established", false, "NotAccepted", "not all names are accepted"),
    ],
    acceptedNames: isAccepted ? names : {},
    storedVersions,
  };
}

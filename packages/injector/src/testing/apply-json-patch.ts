import type { JsonPatchOperation } from "../json-patch.js";

type Json = Record<string, unknown>;

/** Applies a JSON patch to a copy, as the API server does: a place that is absent is an error. */
export function applyJsonPatch(document: unknown, patch: readonly JsonPatchOperation[]): unknown {
  const root = { root: structuredClone(document) };
  for (const operation of patch) {
    const path = ["root", ...operation.path.split("/").slice(1).map(unescape)];
    const last = path.at(-1) ?? "";
    const parent = path.slice(0, -1).reduce<unknown>((value, key) => (value as Json)[key], root);
    if (typeof parent !== "object" || parent === null) throw new Error(`no object at ${operation.path}`);
    if (Array.isArray(parent)) patchList(parent, Number(last), operation);
    else patchObject(parent as Json, last, operation);
  }
  return root.root;
}

const unescape = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

function patchList(list: unknown[], at: number, operation: JsonPatchOperation): void {
  if (!(at >= 0 && at <= list.length - (operation.op === "add" ? 0 : 1))) throw new Error(`no place ${operation.path}`);
  if (operation.op === "add") list.splice(at, 0, structuredClone(operation.value));
  else if (operation.op === "remove") list.splice(at, 1);
  else list[at] = structuredClone(operation.value);
}

function patchObject(object: Json, key: string, operation: JsonPatchOperation): void {
  if (operation.op !== "add" && !(key in object)) throw new Error(`no member ${operation.path}`);
  if (operation.op === "remove") delete object[key];
  else object[key] = structuredClone(operation.value);
}

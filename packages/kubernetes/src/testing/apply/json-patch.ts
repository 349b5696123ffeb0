import { badRequest, StatusError } from "../http/status-error.js";
import { copyJson, equalJson, isJsonObject, setField } from "../storage/object.js";

/** Operation of RFC 6902. */
interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

type Container = { readonly parent: unknown; readonly key: string };

/**
 * Returns a document after a JSON patch (RFC 6902). The document itself is not modified.
 *
 * @throws StatusError 400 for a patch that cannot be parsed, 422 for one that cannot be applied
 */
export function jsonPatch<T>(document: T, patch: unknown): T {
  if (!Array.isArray(patch)) throw badRequest("json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  let result: unknown = copyJson(document);
  for (const operation of patch) {
    if (!isOperation(operation))
      throw badRequest(`json patch operation without op or path: ${JSON.stringify(operation)}`);
    result = applyOperation(result, operation);
  }
  return result as T;
}

function isOperation(value: unknown): value is Operation {
  if (!isJsonObject(value) || typeof value.path !== "string") return false;
  const needsFrom = value.op === "move" || value.op === "copy";
  return typeof value.op === "string" && (!needsFrom || typeof value.from === "string");
}

const failed = (message: string): StatusError =>
  new StatusError(422, "Invalid", `the server rejected our request due to an error in our request: ${message}`, {});

function applyOperation(document: unknown, { op, path, from = "", value }: Operation): unknown {
  switch (op) {
    case "add":
      return add(document, path, copyJson(value));
    case "remove":
      return remove(document, path);
    case "replace":
      read(document, path);
      return path === "" ? copyJson(value) : add(remove(document, path), path, copyJson(value));
    case "move": {
      const moved = read(document, from);
      return add(remove(document, from), path, moved);
    }
    case "copy":
      return add(document, path, copyJson(read(document, from)));
    case "test":
      if (!equalJson(read(document, path), value)) throw failed(`testing value ${path} failed: test failed`);
      return document;
    default:
      throw failed(`unexpected kind of operation: ${op}`);
  }
}

const segmentsOf = (path: string): readonly string[] => {
  if (path !== "" && !path.startsWith("/")) throw failed(`path ${path} does not begin with /`);
  return path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
};

function read(document: unknown, path: string): unknown {
  let value = document;
  for (const segment of segmentsOf(path)) value = child(value, segment, path);
  return value;
}

function child(value: unknown, key: string, path: string): unknown {
  if (Array.isArray(value)) return value[existingIndex(value, key, path)];
  if (isJsonObject(value) && Object.hasOwn(value, key)) return value[key];
  throw failed(`path ${path} does not exist: missing value`);
}

function existingIndex(list: readonly unknown[], key: string, path: string): number {
  if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) >= list.length) {
    throw failed(`unable to access index ${key} of ${path}: invalid index referenced`);
  }
  return Number(key);
}

function containerOf(document: unknown, path: string): Container {
  const segments = segmentsOf(path);
  let parent = document;
  for (const segment of segments.slice(0, -1)) parent = child(parent, segment, path);
  return { parent, key: segments.at(-1) ?? "" };
}

function add(document: unknown, path: string, value: unknown): unknown {
  if (path === "") return value;
  const { parent, key } = containerOf(document, path);
  if (Array.isArray(parent)) {
    if (key !== "-" && (!/^(0|[1-9]\d*)$/.test(key) || Number(key) > parent.length)) {
      throw failed(`unable to access index ${key} of ${path}: invalid index referenced`);
    }
    parent.splice(key === "-" ? parent.length : Number(key), 0, value);
  } else if (isJsonObject(parent)) setField(parent, key, value);
  else throw failed(`add operation does not apply: doc is missing path: ${path}`);
  return document;
}

function remove(document: unknown, path: string): unknown {
  const { parent, key } = containerOf(document, path);
  if (Array.isArray(parent)) parent.splice(existingIndex(parent, key, path), 1);
  else if (isJsonObject(parent) && Object.hasOwn(parent, key)) delete parent[key];
  else throw failed(`remove operation does not apply: doc is missing path: ${path}`);
  return document;
}

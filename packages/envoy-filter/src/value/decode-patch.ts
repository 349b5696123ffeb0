import { fromJson, type JsonObject, type JsonValue, type Message } from "@bufbuild/protobuf";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_EnvoyConfigObjectPatch as ConfigPatch,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { type Patch, PatchError } from "../patch.js";
import { messageType, patchedMessages, registry } from "./message-types.js";

/** Bounds of the value of a patch, far above what Envoy's messages need. */
const maxDepth = 64;
const maxNodes = 100_000;

/** Kinds of things that have an order. Inserting others at a position adds them. */
const ordered: ReadonlySet<ApplyTo> = new Set([
  ApplyTo.HTTP_FILTER,
  ApplyTo.NETWORK_FILTER,
  ApplyTo.HTTP_ROUTE,
  ApplyTo.LISTENER_FILTER,
]);
const inserts: ReadonlySet<Operation> = new Set([
  Operation.INSERT_AFTER,
  Operation.INSERT_BEFORE,
  Operation.INSERT_FIRST,
]);

/**
 * Decodes a patch. Unknown fields and names of enumerations are left out, as they may be of a later Envoy. A packed
 * message of an unknown type becomes an `xds.type.v3.TypedStruct`, which Envoy converts.
 *
 * @throws PatchError if the patch has no effect in any configuration
 */
export function decodePatch(id: string, { applyTo, match, patch }: ConfigPatch): Patch {
  const schema = patchedMessages[applyTo];
  if (schema === undefined) throw new PatchError(`applyTo is ${ApplyTo[applyTo] ?? applyTo}, which cannot be patched`);
  if (patch === undefined || patch.operation === Operation.INVALID) throw new PatchError("patch has no operation");
  const operation = inserts.has(patch.operation) && !ordered.has(applyTo) ? Operation.ADD : patch.operation;
  if (patch.value === undefined && operation !== Operation.REMOVE)
    throw new PatchError(`patch.value is missing, expected a value with ${Operation[operation]}`);
  return { id, applyTo, operation, match, value: patch.value && decodeValue(applyTo, patch.value) };
}

function decodeValue(applyTo: ApplyTo, value: JsonObject): Message | undefined {
  const schema = patchedMessages[applyTo];
  if (schema === undefined) return undefined;
  checkSize(value);
  try {
    return fromJson(schema, withKnownTypes(value), { registry: registry(), ignoreUnknownFields: true });
  } catch (error) {
    throw new PatchError(`patch.value: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checkSize(value: JsonValue): void {
  let nodes = 0;
  const visit = (json: JsonValue, depth: number): void => {
    if (depth > maxDepth) throw new PatchError(`patch.value is nested deeper than ${maxDepth} levels`);
    if (++nodes > maxNodes) throw new PatchError(`patch.value has more than ${maxNodes} values`);
    if (typeof json === "object" && json !== null)
      for (const item of Object.values(json)) visit(item as JsonValue, depth + 1);
  };
  visit(value, 0);
}

/** Returns a value in which packed messages of unknown types are packed as TypedStruct. */
function withKnownTypes(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withKnownTypes);
  if (typeof json !== "object" || json === null) return json;
  const url = json["@type"];
  if (typeof url === "string" && url.includes("/") && messageType(url.slice(url.lastIndexOf("/") + 1)) === undefined) {
    const { "@type": _, ...value } = json;
    return { "@type": `type.googleapis.com/${typedStruct}`, type_url: url, value };
  }
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, withKnownTypes(value)]));
}

const typedStruct = "xds.type.v3.TypedStruct";

import { createRegistry, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  decodePatch,
  Effects,
  ListenerPatcher,
  type ListenerPlace,
  patchCluster,
  patchEncodedCluster,
  type Patch,
  type PatchEffect,
  type Patches,
  patchEncodedRoutes,
} from "@istiod/envoy-filter";
import {
  EnvoyFilter_EnvoyConfigObjectPatchSchema as ConfigPatchSchema,
  EnvoyFilter_PatchContext as Context,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { expect } from "vitest";
import { StringValueSchema, StructSchema } from "@bufbuild/protobuf/wkt";

const registry = createRegistry(...envoy, StringValueSchema, StructSchema);

/** A patch as users write it. */
export interface Written {
  readonly applyTo: string;
  readonly match?: object;
  readonly operation: string;
  readonly value?: object;
}

/** Decodes patches, which are named by their position. */
export function patchesOf(written: readonly Written[]): Patches {
  const found: Partial<Record<number, Patch[]>> = {};
  for (const [i, { applyTo, match, operation, value }] of written.entries()) {
    const json = { applyTo, ...(match && { match }), patch: { operation, ...(value && { value }) } };
    const patch = decodePatch(String(i), fromJson(ConfigPatchSchema, json as JsonValue));
    (found[patch.applyTo] ??= []).push(patch);
  }
  return found;
}

interface Result {
  /** The patched message as JSON; undefined if it was removed. */
  readonly json: JsonValue | undefined;
  readonly effects: readonly PatchEffect[];
}

export function onCluster(cluster: JsonValue, written: readonly Written[], hosts: readonly string[] = []): Result {
  const message = fromJson(ClusterSchema, cluster, { registry });
  const [effects, ofBytes] = [new Effects(), new Effects()];
  const [patches, place] = [patchesOf(written), { context: Context.SIDECAR_OUTBOUND, hosts }];
  const patched = patchEncodedCluster(toBinary(ClusterSchema, message), message.name, patches, place, ofBytes);
  const remains = patchCluster(message, patches, place, effects);
  // Both ways of merging are the same.
  const encoded = patched && fromBinary(ClusterSchema, patched.bytes);
  expect(encoded && toJson(ClusterSchema, encoded, { registry })).toEqual(
    remains ? toJson(ClusterSchema, message, { registry }) : undefined,
  );
  expect(ofBytes.toArray()).toEqual(effects.toArray());
  return { json: remains ? toJson(ClusterSchema, message, { registry }) : undefined, effects: effects.toArray() };
}

/** Applies patches to listeners, one after the other by the same patcher. */
export function onListeners(
  listeners: readonly JsonValue[],
  written: readonly Written[],
  place: Partial<ListenerPlace> = {},
): readonly Result[] {
  const patcher = new ListenerPatcher(patchesOf(written), { context: Context.SIDECAR_OUTBOUND, ...place });
  return listeners.map((listener) => {
    const message = fromJson(ListenerSchema, listener, { registry });
    const effects = new Effects();
    const patched = patcher.patch({ name: message.name, bytes: toBinary(ListenerSchema, message) }, effects);
    const json = patched && toJson(ListenerSchema, fromBinary(ListenerSchema, patched.bytes), { registry });
    return { json, effects: effects.toArray() };
  });
}

export function onListener(listener: JsonValue, written: readonly Written[], place?: Partial<ListenerPlace>): Result {
  const [result, again] = onListeners([listener, listener], written, place);
  // The results that a patcher keeps are those that it computes.
  expect(again).toEqual(result);
  if (result === undefined) throw new Error("there is no result");
  return result;
}

export function onRoutes(routes: JsonValue, written: readonly Written[], context = Context.SIDECAR_OUTBOUND): Result {
  const message = fromJson(RouteConfigurationSchema, routes, { registry });
  const effects = new Effects();
  const place = { context, gatewayPorts: { 8080: [80] } };
  const bytes = patchEncodedRoutes(
    toBinary(RouteConfigurationSchema, message),
    message.name,
    patchesOf(written),
    place,
    effects,
  );
  const patched = fromBinary(RouteConfigurationSchema, bytes);
  return { json: toJson(RouteConfigurationSchema, patched, { registry }), effects: effects.toArray() };
}

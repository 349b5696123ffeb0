import { isDeepStrictEqual } from "node:util";
import { parseYaml } from "@istiod/config-schema";
import { applyStrategicMergePatch, InjectorError, type JsonObject } from "@istiod/injector";
import { type GatewayObjectKind, overlayKeys } from "./gateway-object-kinds.js";
import { ManagedGatewayError } from "./managed-gateway-error.js";

/** Customizations of the objects of a Gateway: strategic merge patches in YAML, by kind. */
export interface Overlays {
  /** Name of the ConfigMap for messages, such as `ConfigMap shop/options`. */
  readonly source: string;
  readonly data: Readonly<Record<string, string>>;
}

/**
 * Checks the keys of customizations.
 *
 * @throws ManagedGatewayError for a key that customizes nothing
 */
export function checkOverlays(overlays: readonly Overlays[]): void {
  for (const { source, data } of overlays) {
    const unknown = Object.keys(data).find((key) => !overlayKeys.includes(key));
    if (unknown !== undefined)
      throw new ManagedGatewayError(
        `${source}: data[${JSON.stringify(unknown)}]: expected one of ${overlayKeys.join(", ")}`,
      );
  }
}

/**
 * Returns an object with its customizations; undefined if it exists only with some, and there are none.
 *
 * @throws ManagedGatewayError for a patch that is malformed, or that changes the identity of the object
 */
export function withOverlays(
  object: JsonObject,
  { type, overlay, needsOverlay }: GatewayObjectKind,
  overlays: readonly Overlays[],
): JsonObject | undefined {
  const applied = overlays.filter(({ data }) => overlay in data);
  if (applied.length === 0) return needsOverlay ? undefined : object;
  return applied.reduce((original, { source, data }) => {
    const place = `${source}: data.${overlay}`;
    const customized = patched(type.kind, original, patchOf(data[overlay] ?? "", place), place);
    checkIdentity(object, customized, place);
    return customized;
  }, object);
}

function patchOf(text: string, place: string): JsonObject {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  if ("message" in parsed) throw new ManagedGatewayError(`${place}: line ${parsed.line}: ${parsed.message}`);
  const value = parsed.value ?? {};
  if (typeof value !== "object" || Array.isArray(value)) throw new ManagedGatewayError(`${place}: expected an object`);
  return value as JsonObject;
}

function patched(structName: string, original: JsonObject, patch: JsonObject, place: string): JsonObject {
  try {
    return applyStrategicMergePatch(structName, original, patch);
  } catch (cause) {
    if (!(cause instanceof InjectorError)) throw cause;
    throw new ManagedGatewayError(`${place}: ${cause.message}`, { cause });
  }
}

/** Metadata that a customization must leave as it is. */
const fixedMetadata = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "ownerReferences",
  "finalizers",
  "managedFields",
];

function checkIdentity(before: JsonObject, after: JsonObject, place: string): void {
  const metadata = [before, after].map((object) => (object["metadata"] ?? {}) as JsonObject);
  const changed = [
    ...["apiVersion", "kind"].filter((field) => before[field] !== after[field]),
    ...fixedMetadata
      .filter((field) => !isDeepStrictEqual(plain(metadata[0]?.[field]), plain(metadata[1]?.[field])))
      .map((field) => `metadata.${field}`),
  ];
  if (changed.length > 0) throw new ManagedGatewayError(`${place}: ${changed.join(", ")}: must not be changed`);
}

/** Returns JSON without the prototypes by which objects of the parser differ from others. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

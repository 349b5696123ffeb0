import type { StoredObject } from "./api-objects.js";
import type { Json, JsonObject } from "@istiod/parity";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}
interface Attachment {
  readonly parentRef?: JsonObject;
  readonly ancestorRef?: JsonObject;
  readonly controllerName?: string;
  readonly conditions?: readonly Condition[];
}
interface Listener {
  readonly name: string;
  readonly attachedRoutes?: number;
  readonly supportedKinds?: readonly JsonObject[];
  readonly conditions?: readonly Condition[];
}
/** A status as an API server or a query has it. */
export interface AnyStatus {
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly Listener[];
  readonly addresses?: readonly object[];
  readonly attachedListenerSets?: number;
  readonly parents?: readonly Attachment[];
  readonly ancestors?: readonly Attachment[];
}

/**
 * Returns a status in a form that does not depend on the order of lists: without times, generations, features, and what
 * definitions set by default.
 */
export function comparableStatus(
  { conditions, listeners, addresses, attachedListenerSets, parents, ancestors }: AnyStatus,
  namespace: string,
): JsonObject {
  const out: JsonObject = {
    ...present("conditions", conditionsOf(conditions)),
    ...present(
      "listeners",
      Object.fromEntries(
        (listeners ?? []).map((listener): [string, Json] => [
          listener.name,
          {
            attachedRoutes: listener.attachedRoutes ?? 0,
            supportedKinds: (listener.supportedKinds ?? [])
              .map(({ group, kind }) => `${String(group)}/${String(kind)}`)
              .sort(),
            conditions: conditionsOf(listener.conditions),
          },
        ]),
      ),
    ),
    ...present("parents", attachmentsOf(parents, namespace)),
    ...present("ancestors", attachmentsOf(ancestors, namespace)),
  };
  if (addresses !== undefined && addresses.length > 0) out["addresses"] = addresses as unknown as Json;
  if (attachedListenerSets) out["attachedListenerSets"] = attachedListenerSets;
  return out;
}

const present = (name: string, value: JsonObject): JsonObject =>
  Object.keys(value).length === 0 ? {} : { [name]: value };

/** The time of conditions that definitions set by default. */
const never = "1970-01-01T00:00:00Z";

function conditionsOf(conditions: readonly Condition[] = []): JsonObject {
  return Object.fromEntries(
    conditions
      .filter(({ lastTransitionTime }) => lastTransitionTime !== never)
      .map(({ type, status, reason, message = "" }): [string, Json] => [type, { status, reason, message }]),
  );
}

function attachmentsOf(entries: readonly Attachment[] = [], namespace: string): JsonObject {
  return Object.fromEntries(
    entries.map((entry): [string, Json] => {
      const reference = entry.parentRef ?? entry.ancestorRef ?? {};
      const {
        group = "gateway.networking.k8s.io",
        kind = "Gateway",
        name = "",
        sectionName = "",
        port = "",
      } = reference;
      const parts = [
        group,
        kind,
        reference["namespace"] ?? namespace,
        name,
        sectionName,
        port,
        entry.controllerName ?? "",
      ];
      return [parts.map(String).join(" "), conditionsOf(entry.conditions)];
    }),
  );
}

/** Returns the comparable status of a stored object; undefined if nobody has written one. */
export function storedStatus({ metadata, status }: StoredObject): JsonObject | undefined {
  const found = comparableStatus((status ?? {}) as AnyStatus, metadata.namespace ?? "");
  return Object.keys(found).length === 0 ? undefined : found;
}

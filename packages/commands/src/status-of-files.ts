import { formatProblem } from "@istiod/config-schema";
import {
  isAboutAddresses,
  isFault,
  type ObjectStatus,
  placedConditions,
  statusKinds,
  type UnservedReference,
} from "@istiod/gateway-api";
import type { Query } from "@istiod/incremental";
import { noProxy } from "@istiod/push-context";
import { statusExits } from "@istiod/replicas";
import type { OfflineMesh } from "./offline-mesh.js";

/** An object of the Gateway API with the status that istiod would write. */
export interface FileStatus {
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** Absent if istiod would write none, because the object belongs to another controller. */
  readonly status?: ObjectStatus;
  /** Reasons for which istiod serves none of the object's parents, or not all of them. Absent if there are none. */
  readonly notAttached?: readonly string[];
}

/**
 * Returns the statuses of the objects of the Gateway API that a mesh has, without conditions that depend on what runs:
 * `Programmed` where it is about addresses.
 *
 * @param named `KIND/NAMESPACE/NAME`, case-insensitive; empty: all
 * @throws Error if a named object does not exist
 */
export function statusesOfFiles({ database }: OfflineMesh, named: readonly string[]): readonly FileStatus[] {
  const view = database.view(noProxy);
  const all = statusKinds.flatMap(({ kind, objects, status, argument, unserved }) =>
    [...database.keys(objects)].sort().flatMap((key): readonly FileStatus[] => {
      const object = database.read(objects, key);
      if (object === undefined) return [];
      const found = view.call(status as Query<unknown, ObjectStatus | undefined>, argument(key));
      const { namespace, name } = object;
      const reasons = unserved as Query<unknown, readonly UnservedReference[]> | undefined;
      const notAttached = reasons === undefined ? [] : view.call(reasons, argument(key)).map(({ reason }) => reason);
      return [
        {
          kind: kind.kind,
          namespace,
          name,
          ...(found && { status: ofConfiguration(found) }),
          ...(notAttached.length > 0 && { notAttached }),
        },
      ];
    }),
  );
  view.release();
  const wanted = named.map((name) => name.toLowerCase());
  const missing = wanted.find((name) => !all.some((each) => nameOf(each).toLowerCase() === name));
  if (missing !== undefined) throw new Error(`${missing}: there is no such object of the Gateway API in the files`);
  return wanted.length === 0 ? all : all.filter((each) => wanted.includes(nameOf(each).toLowerCase()));
}

function nameOf({ kind, namespace, name }: FileStatus): string {
  return namespace === "" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

function ofConfiguration({ addresses: _, ...status }: ObjectStatus): ObjectStatus {
  if (status.conditions === undefined) return status;
  return { ...status, conditions: status.conditions.filter((each) => !isAboutAddresses(each)) };
}

/** Returns a report of statuses: a line for each object, and one for each fault and each part without effect. */
export function formatFileStatuses(statuses: readonly FileStatus[]): string {
  if (statuses.length === 0) return "no objects of the Gateway API\n";
  return statuses.map((each) => `${[nameOf(each) + summary(each), ...faultLines(each)].join("\n  ")}\n`).join("");
}

function summary({ kind, status }: FileStatus): string {
  if (status === undefined) return ": not served by istiod";
  if (kind === "InferencePool" && status.parents?.length === 0) return ": not attached: no route of a Gateway names it";
  if (status.parents?.length === 0) return ": not attached: istiod serves none of its parentRefs";
  if (status.ancestors?.length === 0) return ": not attached: istiod serves none of its targetRefs";
  const accepted = placedConditions(status).filter(({ type }) => type === "Accepted");
  const isAccepted = accepted.every(({ status: value }) => value === "True");
  const routes = (status.listeners ?? []).map(({ name, attachedRoutes = 0 }) => `${name}: ${attachedRoutes}`);
  return `: ${isAccepted ? "accepted" : "not accepted"}${routes.length === 0 ? "" : `; routes: ${routes.join(", ")}`}`;
}

function faultLines({ status, notAttached = [] }: FileStatus): readonly string[] {
  const faults = (status === undefined ? [] : placedConditions(status)).flatMap((condition) => {
    const { place, type, status: value, reason, message, notes = [] } = condition;
    const at = place === "" ? [] : [place];
    if (isFault(condition)) return [[...at, `${type} is ${value}`, reason, message].join(": ")];
    return notes.map((note) => [...at, note].join(": "));
  });
  return [...notAttached.map((reason) => `not attached: ${reason}`), ...faults];
}

/** Returns lines about objects that files have and that are rejected. */
export function rejectedObjects({ problems }: OfflineMesh): readonly string[] {
  return problems.filter(({ severity }) => severity === "error").map((each) => `rejected: ${formatProblem(each)}\n`);
}

/**
 * Returns the exit status of statuses: rejected if an object is not accepted, without effect if a reference cannot be
 * resolved or a route has no parent.
 */
export function exitOfFiles(statuses: readonly FileStatus[]): number {
  const faults = statuses.flatMap(({ status }) =>
    status === undefined ? [] : placedConditions(status).filter(isFault),
  );
  if (faults.some(({ type }) => !type.startsWith("Resolved"))) return statusExits.rejected;
  const isUnattached = statuses.some(
    ({ status, notAttached }) =>
      (status !== undefined && notAttached !== undefined) ||
      status?.parents?.length === 0 ||
      status?.ancestors?.length === 0,
  );
  return faults.length > 0 || isUnattached ? statusExits.ineffective : statusExits.live;
}

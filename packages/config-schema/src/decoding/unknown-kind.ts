import { nearestNames } from "@istiod/settings";
import { allKinds, isIstioGroup } from "../kinds/all-kinds.js";
import type { Kind } from "../kinds/kind.js";
import type { Envelope } from "./manifest.js";
import type { FieldPath, IssueCode } from "./report.js";

/** A fault of a document whose kind is ignored although its author likely expects otherwise. */
export interface UnknownKind {
  readonly severity: "error" | "warning";
  readonly path: FieldPath;
  readonly message: string;
  readonly code: IssueCode;
  /** The kind that was likely meant, if there is one. */
  readonly meant?: Kind;
}

/** Kinds of groups that Istio reads, and that istiod does not support, by group. */
const unsupportedKinds: Readonly<Record<string, readonly string[]>> = {
  "gateway.networking.x-k8s.io": ["XMesh", "XTelemetryPolicy"],
  "install.istio.io": ["IstioOperator"],
};

/** Kinds of Kubernetes' core group that istiod does not read. Any other is reported as a misspelling. */
const unusedCoreKinds = new Set([
  "Binding",
  "ComponentStatus",
  "Endpoints",
  "Event",
  "LimitRange",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "PodTemplate",
  "ReplicationController",
  "ResourceQuota",
]);

/**
 * Returns the fault of a document whose kind or group is misspelled, or is read by Istio and not supported yet.
 * Undefined for the many kinds of a cluster that do not concern a mesh.
 */
export function unknownKindFault({ kind, group, apiVersion }: Envelope): UnknownKind | undefined {
  if (unsupportedKinds[group]?.includes(kind)) {
    const message = `is ${kind}, which is not supported yet: the object has no effect`;
    return { severity: "warning", path: ["kind"], message, code: "unsupported-kind" };
  }
  const namesake = allKinds.find((known) => known.kind === kind);
  if (namesake !== undefined && isLikelyMeant(group, namesake.group)) {
    const message = `is ${apiVersion}, expected ${formatVersions(namesake)} for ${kind}`;
    return { ...unknown(["apiVersion"], message), meant: namesake };
  }
  const candidates = [
    ...allKinds.filter((known) => known.group === group).map((known) => known.kind),
    ...(unsupportedKinds[group] ?? []),
  ];
  if (candidates.length === 0 && !isIstioGroup(group)) return undefined;
  if (group === "" && unusedCoreKinds.has(kind)) return undefined;
  const [nearest] = nearestNames(kind, candidates);
  if (nearest !== undefined) return misspelled({ kind, apiVersion }, nearest);
  if (!isIstioGroup(group) && group !== "") return undefined;
  const [elsewhere] = nearestNames(
    kind,
    allKinds.map((known) => known.kind),
  );
  if (elsewhere !== undefined) return misspelled({ kind, apiVersion }, elsewhere);
  const hint =
    candidates.length === 0 ? `Istio has no kinds in group ${group}` : `expected one of ${candidates.join(", ")}`;
  return unknown(["kind"], `is ${kind}, which does not exist in ${apiVersion}; ${hint}`);
}

function misspelled({ kind, apiVersion }: Pick<Envelope, "kind" | "apiVersion">, nearest: string): UnknownKind {
  const meant = allKinds.find((known) => known.kind === nearest);
  return {
    ...unknown(["kind"], `is ${kind}, which does not exist in ${apiVersion}; did you mean ${nearest}?`),
    ...(meant && { meant }),
  };
}

function unknown(path: FieldPath, message: string): UnknownKind {
  return { severity: "error", path, message, code: "unknown-kind" };
}

/** Reports whether a group is likely a misspelling of another: it is empty, one of Istio's, or similar. */
function isLikelyMeant(group: string, meant: string): boolean {
  return group === "" || isIstioGroup(group) || nearestNames(group, [meant]).length > 0;
}

function formatVersions({ group, versions }: Kind): string {
  return versions.map((version) => (group === "" ? version : `${group}/${version}`)).join(" or ");
}

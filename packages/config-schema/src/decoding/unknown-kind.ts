import { nearestNames } from "@istiod/settings";
import { allKinds } from "../kinds/all-kinds.js";
import type { Kind } from "../kinds/kind.js";
import type { Envelope } from "./manifest.js";
import type { FieldPath, IssueCode } from "./report.js";

/** The fault of a document whose kind is not read although its author expects it to be. */
export interface UnknownKind {
  readonly severity: "error" | "warning";
  readonly path: FieldPath;
  readonly message: string;
  readonly code: IssueCode;
}

const gatewayApi = "gateway.networking.k8s.io";

/** Kinds that Istio reads and this version does not, by group. */
const unsupportedKinds: Readonly<Record<string, readonly string[]>> = {
  [gatewayApi]: [
    "BackendTLSPolicy",
    "Gateway",
    "GatewayClass",
    "GRPCRoute",
    "HTTPRoute",
    "ListenerSet",
    "ReferenceGrant",
    "TCPRoute",
    "TLSRoute",
    "UDPRoute",
  ],
  "gateway.networking.x-k8s.io": ["XBackendTrafficPolicy", "XListenerSet"],
  "inference.networking.k8s.io": ["InferencePool"],
  "install.istio.io": ["IstioOperator"],
};

/** Kinds of Kubernetes' core group that istiod has no use for. Any other is taken for a misspelling. */
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
 * Returns the fault of a document of a kind that is not among those that are read: a kind or group that is misspelled,
 * or one that Istio reads and this version does not. Undefined for the many kinds of a cluster that do not concern a
 * mesh.
 */
export function faultOfUnknownKind({ kind, group, apiVersion }: Envelope): UnknownKind | undefined {
  if (unsupportedKinds[group]?.includes(kind)) {
    const message = `is ${kind}, which is not supported yet: the object has no effect`;
    return { severity: "warning", path: ["kind"], message, code: "unsupported-kind" };
  }
  const namesake = allKinds.find((known) => known.kind === kind);
  if (namesake !== undefined && isLikelyMeant(group, namesake.group)) {
    return unknown(["apiVersion"], `is ${apiVersion}, expected ${formatVersions(namesake)} for ${kind}`);
  }
  const candidates = [
    ...allKinds.filter((known) => known.group === group).map((known) => known.kind),
    ...(unsupportedKinds[group] ?? []),
  ];
  if (candidates.length === 0 && !group.endsWith(".istio.io")) return undefined;
  if (group === "" && unusedCoreKinds.has(kind)) return undefined;
  const [nearest] = nearestNames(kind, candidates);
  if (nearest !== undefined)
    return unknown(["kind"], `is ${kind}, which does not exist in ${apiVersion}; did you mean ${nearest}?`);
  if (!group.endsWith(".istio.io") && group !== "") return undefined;
  const [elsewhere] = nearestNames(
    kind,
    allKinds.map((known) => known.kind),
  );
  if (elsewhere !== undefined)
    return unknown(["kind"], `is ${kind}, which does not exist in ${apiVersion}; did you mean ${elsewhere}?`);
  const hint =
    candidates.length === 0 ? `Istio has no kinds in group ${group}` : `expected one of ${candidates.join(", ")}`;
  return unknown(["kind"], `is ${kind}, which does not exist in ${apiVersion}; ${hint}`);
}

function unknown(path: FieldPath, message: string): UnknownKind {
  return { severity: "error", path, message, code: "unknown-kind" };
}

/** Reports whether a group was probably meant to be another: none, one of Istio's, or one that is spelled like it. */
function isLikelyMeant(group: string, meant: string): boolean {
  return group === "" || group === "istio.io" || group.endsWith(".istio.io") || nearestNames(group, [meant]).length > 0;
}

function formatVersions({ group, versions }: Kind): string {
  return versions.map((version) => (group === "" ? version : `${group}/${version}`)).join(" or ");
}

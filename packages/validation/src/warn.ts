import { isDeepStrictEqual } from "node:util";
import type { AdmissionRequest, AdmissionResponse, Admit, JsonObject } from "@istiod/admission";
import {
  decode,
  type Decoded,
  gatewayApiKinds,
  ingressKind,
  type Kind,
  namespaceKind,
  podKind,
  serviceKind,
  workloadKinds,
} from "@istiod/config-schema";
import { type AcceptedObject, formatIssue, listed, type ValidationOptions, withName } from "./admit.js";

/** Kinds that others validate, and that the mesh reads. */
export const warnedKinds: readonly Kind[] = [
  namespaceKind,
  serviceKind,
  podKind,
  ...workloadKinds,
  ingressKind,
  ...gatewayApiKinds,
];

/**
 * Returns the decisions of a webhook that only warns: about objects of Kubernetes and of the Gateway API, which others
 * validate. Every write is allowed, also of objects that cannot be read, whose faults are warnings. Pods that belong to
 * another object are left out, since their author does not see warnings, and updates that change nothing that the mesh
 * reads.
 */
export function warningWebhook({ furtherWarnings }: Required<Pick<ValidationOptions, "furtherWarnings">>): Admit {
  return (request) => {
    const decoded = isOwned(request) ? undefined : decodedIn(request, request.object);
    if (decoded === undefined || isUnchanged(request, decoded)) return { allowed: true };
    const known = decoded.issues.map(formatIssue);
    const allowed = (further: readonly string[]): AdmissionResponse => {
      const warnings = [...listed(known), ...further];
      return { allowed: true, ...(warnings.length > 0 && { warnings }) };
    };
    if (decoded.outcome !== "accepted") return allowed([]);
    return furtherWarnings(decoded, known).then(allowed, () => allowed([]));
  };
}

function isOwned({ object }: AdmissionRequest): boolean {
  const { ownerReferences } = (object?.["metadata"] ?? {}) as { readonly ownerReferences?: unknown };
  return object?.["kind"] === podKind.kind && Array.isArray(ownerReferences) && ownerReferences.length > 0;
}

function decodedIn({ operation, namespace }: AdmissionRequest, object: JsonObject | undefined): Decoded | undefined {
  if (object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return undefined;
  return decode(withName(object, namespace), { kinds: warnedKinds })[0];
}

function isUnchanged(request: AdmissionRequest, decoded: Decoded): boolean {
  const before = decodedIn(request, request.oldObject);
  if (before?.outcome !== "accepted" || decoded.outcome !== "accepted") return false;
  return isDeepStrictEqual(stateOf(before), stateOf(decoded));
}

/** Returns what a user writes of an object. */
function stateOf({ object: { labels, annotations, spec } }: AcceptedObject): unknown {
  return { labels, annotations, spec };
}

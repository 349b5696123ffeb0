import { isDeepStrictEqual } from "node:util";
import type { AdmissionRequest, Admit, JsonObject } from "@istiod/admission";
import {
  decode,
  gatewayApiKinds,
  type Kind,
  namespaceKind,
  podKind,
  serviceKind,
  workloadKinds,
} from "@istiod/config-schema";
import { type AcceptedObject, type ValidationOptions, withName } from "./admit.js";

/** Kinds that others validate, and that the mesh reads. */
const warnedKinds: readonly Kind[] = [namespaceKind, serviceKind, podKind, ...workloadKinds, ...gatewayApiKinds];

/**
 * Returns the decisions of a webhook that only warns: about objects of Kubernetes and of the Gateway API, which others
 * validate. Every write is allowed, also of objects that cannot be read. Pods that belong to another object are left
 * out, since their author does not see warnings, and updates that change nothing that the mesh reads.
 */
export function warningWebhook({ furtherWarnings }: Required<Pick<ValidationOptions, "furtherWarnings">>): Admit {
  return (request) => {
    const accepted = isOwned(request) ? undefined : acceptedIn(request, request.object);
    if (accepted === undefined || isUnchanged(request, accepted)) return { allowed: true };
    return furtherWarnings(accepted, []).then(
      (warnings) => ({ allowed: true, warnings }),
      () => ({ allowed: true }),
    );
  };
}

function isOwned({ object }: AdmissionRequest): boolean {
  const { ownerReferences } = (object?.["metadata"] ?? {}) as { readonly ownerReferences?: unknown };
  return object?.["kind"] === podKind.kind && Array.isArray(ownerReferences) && ownerReferences.length > 0;
}

function acceptedIn(
  { operation, namespace }: AdmissionRequest,
  object: JsonObject | undefined,
): AcceptedObject | undefined {
  if (object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return undefined;
  const [decoded] = decode(withName(object, namespace), { kinds: warnedKinds });
  return decoded?.outcome === "accepted" ? decoded : undefined;
}

function isUnchanged(request: AdmissionRequest, { object }: AcceptedObject): boolean {
  const before = acceptedIn(request, request.oldObject)?.object;
  return before !== undefined && isDeepStrictEqual(stateOf(before), stateOf(object));
}

/** Returns what a user writes of an object. */
function stateOf({ labels, annotations, spec }: AcceptedObject["object"]): unknown {
  return { labels, annotations, spec };
}

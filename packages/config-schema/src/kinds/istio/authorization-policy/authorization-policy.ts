import { collection, index } from "@istiod/incremental";
import {
  AuthorizationPolicy_Action as Action,
  AuthorizationPolicySchema,
  type AuthorizationPolicy,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { ConfigObject } from "../../../config-object.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { record } from "../../../decoding/json.js";
import { isTrue } from "../../../validation/metadata.js";
import { each, type Place } from "../../../validation/place.js";
import { atMost, required, type Shape } from "../../../validation/shape.js";
import { attachmentShape, checkAttachment } from "../../../validation/targets.js";
import { checkRule } from "./rule.js";
import { selections } from "../../selections.js";
import { istioKind } from "../istio-kind.js";

export type AuthorizationPolicyObject = ConfigObject<AuthorizationPolicy>;

export const authorizationPolicies = collection<AuthorizationPolicyObject>("AuthorizationPolicy", {
  filter: discoveryNamespacesFilter,
});

export const authorizationPoliciesByNamespace = index(authorizationPolicies, "byNamespace", (v) => [v.namespace]);

/** DENY policies in place of rejected policies without a good version. */
export const rejectedAuthorizationPolicies = collection<AuthorizationPolicyObject>("RejectedAuthorizationPolicy", {
  filter: discoveryNamespacesFilter,
});

export const rejectedAuthorizationPoliciesByNamespace = index(rejectedAuthorizationPolicies, "byNamespace", (v) => [
  v.namespace,
]);

const shape: Shape = {
  ...attachmentShape,
  rules: atMost(512),
  "rules[].from": atMost(512),
  "rules[].from[].source.serviceAccounts": atMost(16),
  "rules[].from[].source.notServiceAccounts": atMost(16),
  "rules[].when[]": required("key"),
};

export const authorizationPolicyKind = istioKind({
  kind: "AuthorizationPolicy",
  group: "security.istio.io",
  versions: ["v1", "v1beta1"],
  schema: AuthorizationPolicySchema,
  collection: authorizationPolicies,
  conditions: ["ZtunnelAccepted", "WaypointAccepted"],
  shape,
  dryRunAllowed: ({ action }) => action === Action.ALLOW || action === Action.DENY,
  failClosed: {
    collection: rejectedAuthorizationPolicies,
    effect: "every request and connection is denied",
    substitutes(body) {
      if (body !== undefined && onlyReports(body)) return [];
      return selections(body, "selector", "targetRef", "targetRefs").map((selection) => ({
        ...selection,
        action: "DENY",
        rules: [{}],
      }));
    },
  },
  validate,
});

/** Reports whether a policy, whatever its rules, is not enforced: its action is AUDIT, or it is a dry run. */
function onlyReports(body: Readonly<Record<string, unknown>>): boolean {
  const action = record(body["spec"])?.["action"];
  if (action === "AUDIT") return true;
  const dryRun = record(record(body["metadata"])?.["annotations"])?.["istio.io/dry-run"];
  return (
    record(body["spec"]) !== undefined &&
    (action === undefined || action === "ALLOW" || action === "DENY") &&
    typeof dryRun === "string" &&
    isTrue(dryRun)
  );
}

/** Validates a spec as Istio's `ValidateAuthorizationPolicy` does. */
function validate({ spec }: AuthorizationPolicyObject, place: Place): void {
  checkAttachment(spec, place);
  const { action, rules } = spec;
  const provider = spec.actionDetail.case === "provider" ? spec.actionDetail.value : undefined;
  if ((action === Action.CUSTOM || action === Action.DENY) && rules.length === 0) {
    place
      .at("rules")
      .error(`is empty, expected a rule ({} for every request): without one ${Action[action]} does nothing`);
  }
  if (action === Action.CUSTOM && rules.length > 0 && (provider?.name ?? "") === "")
    place.at("provider", "name").error("is missing, expected the name of an extension provider");
  if (action !== Action.CUSTOM && provider !== undefined)
    place.at("provider").error(`is set with action ${Action[action]}, expected only with CUSTOM`);
  each(rules, place.at("rules"), (rule, at) => checkRule(rule, action, at));
}

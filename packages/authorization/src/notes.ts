import { namespaces, pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Rule } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { ApplicablePolicies, ApplicablePolicy, Proxy } from "@istiod/push-context";
import type { CustomProviderEffect } from "@istiod/xds-generators";
import type { Destination } from "./destination.js";
import type { PolicyVerdict } from "./evaluation/policies.js";

/** Names the rules that cannot match any caller on a port without mutual TLS. */
export function identityNotes(mode: string | undefined, { deny, allow, audit }: ApplicablePolicies): readonly string[] {
  if (mode !== "DISABLE") return [];
  const kinds = { AUDIT: audit, DENY: deny, ALLOW: allow };
  const rules = Object.entries(kinds).flatMap(([action, policies]) =>
    policies.flatMap((policy) => rulesThatNeedIdentities(action, policy)),
  );
  return rules.length === 0
    ? []
    : [`with mutual TLS mode DISABLE no caller has an identity, so these never match: ${rules.join(", ")}`];
}

function rulesThatNeedIdentities(action: string, { namespace, name, rules }: ApplicablePolicy): readonly string[] {
  return rules.flatMap((rule, index) =>
    needsIdentity(rule) ? [`${action} ${namespace}/${name} rules[${index}]`] : [],
  );
}

const identityKeys = ["source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain"];

function needsIdentity({ from, when }: Rule): boolean {
  const everySource =
    from.length > 0 &&
    from.every(({ source }) =>
      [source?.principals, source?.namespaces, source?.serviceAccounts, source?.trustDomains].some(
        (values) => values !== undefined && values.length > 0,
      ),
    );
  return everySource || when.some(({ key, values }) => identityKeys.includes(key) && values.length > 0);
}

/** Names the CUSTOM policies that match a TCP connection without an effect, since their providers speak HTTP only. */
export function skippedProviderNotes(
  policies: readonly PolicyVerdict[],
  providers: readonly CustomProviderEffect[],
): readonly string[] {
  const skipped = providers.filter(({ tcp }) => tcp === "none").map(({ name }) => name);
  return policies
    .filter(({ provider, matches }) => matches && provider !== undefined && skipped.includes(provider))
    .map(
      ({ namespace, name, provider }) =>
        `CUSTOM ${namespace}/${name} has no effect on TCP connections: its provider ${JSON.stringify(provider)} decides on HTTP requests only`,
    );
}

const waypointLabel = "istio.io/use-waypoint";

/** Tells that a waypoint, which the Pod or its namespace names, does not decide. */
export function waypointNotes(
  database: Database<Proxy>,
  { proxy: { id, namespace } }: Pick<Destination, "proxy">,
): readonly string[] {
  const pod = database.all(pods).find((each) => `${each.name}.${each.namespace}` === id);
  const ofNamespace = database.all(namespaces).find(({ name }) => name === namespace);
  const waypoint = pod?.labels[waypointLabel] ?? ofNamespace?.labels[waypointLabel] ?? "none";
  return waypoint === "none" || waypoint === ""
    ? []
    : [
        `the label ${waypointLabel} names ${waypoint}: waypoints are not served by this istiod, so only the sidecar's policies are evaluated`,
      ];
}

import { authorizationPolicies, type AuthorizationPolicyObject, readDiscovered } from "@istiod/config-schema";
import { type Database, query } from "@istiod/incremental";
import { AuthorizationPolicy_Action as Action } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { MeshConfig_ProxyPathNormalization_NormalizationType as Normalization } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  applicableAuthorizationPolicies,
  applicableJwtRules,
  type ApplicablePolicies,
  clientPeerModes,
  localJwks,
  mesh,
  type PeerModes,
  type Proxy,
  proxyConfig,
  remoteJwksServer,
  rootNamespace,
} from "@istiod/push-context";
import {
  customProviderEffects,
  type CustomProviderEffect,
  enforcedAuthorizationPolicies,
  meshTrustDomains,
  rejectsEveryToken,
} from "@istiod/xds-generators";
import { reasonOfReference } from "./target-references.js";
import type { PathNormalization } from "./request/path-normalization.js";
import type { KeyedRule } from "./request/token.js";

/** All that decides about the requests to a workload, from the queries that the generators use. */
export interface WorkloadPolicies {
  readonly peerModes: PeerModes;
  /** The policies that are enforced: those that apply, unless they are too many bytes. */
  readonly policies: ApplicablePolicies;
  readonly applicable: ApplicablePolicies;
  readonly providers: readonly CustomProviderEffect[];
  readonly trustDomains: readonly string[];
  readonly normalization: PathNormalization;
  readonly jwtRules: readonly KeyedRule[];
  /** The reason why every request is rejected as if it had no valid token; undefined if it is not. */
  readonly rejectsAll: string | undefined;
  readonly rootNamespace: string;
  /** Trusted proxies in front of a gateway. */
  readonly trustedHops: number;
}

const normalizations: Readonly<Record<Normalization, PathNormalization>> = {
  [Normalization.DEFAULT]: "BASE",
  [Normalization.NONE]: "NONE",
  [Normalization.BASE]: "BASE",
  [Normalization.MERGE_SLASHES]: "MERGE_SLASHES",
  [Normalization.DECODE_AND_MERGE_SLASHES]: "DECODE_AND_MERGE_SLASHES",
};

/** The policies of the client. */
export const workloadPolicies = query("workloadPolicies", (q): WorkloadPolicies => ({
  peerModes: q.call(clientPeerModes),
  applicable: q.call(applicableAuthorizationPolicies),
  policies: q.call(enforcedAuthorizationPolicies),
  providers: q.call(customProviderEffects),
  trustDomains: meshTrustDomains(q),
  normalization: normalizations[mesh(q).pathNormalization?.normalization ?? Normalization.DEFAULT],
  jwtRules: q.call(applicableJwtRules).map((rule) => ({
    rule,
    jwks: remoteJwksServer(q, rule) === undefined ? localJwks(q, rule) : undefined,
  })),
  rejectsAll: q.call(rejectsEveryToken),
  rootNamespace: rootNamespace(q),
  trustedHops: proxyConfig(q, "gatewayTopology")?.numTrustedProxies ?? 0,
}));

/** A policy that does not apply to the destination. */
export interface OtherPolicy {
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
}

/** Returns the policies of the workload's namespace and the root namespace that do not apply to it, with the reason. */
export function otherPolicies(
  database: Database<Proxy>,
  { namespace }: Proxy,
  { applicable, rootNamespace: root }: WorkloadPolicies,
): readonly OtherPolicy[] {
  const applying = new Set(
    [...applicable.custom, ...applicable.audit, ...applicable.deny, ...applicable.allow].map((each) => keyOf(each)),
  );
  return database
    .keys(authorizationPolicies)
    .flatMap((key) => readDiscovered(database, authorizationPolicies, key) ?? [])
    .filter((policy) => [namespace, root].includes(policy.namespace) && !applying.has(keyOf(policy)))
    .map((policy) => ({
      action: Action[policy.spec.action],
      namespace: policy.namespace,
      name: policy.name,
      reason: reasonOf(database, policy),
    }))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

function reasonOf(database: Database<Proxy>, { namespace, spec }: AuthorizationPolicyObject): string {
  const references = [...spec.targetRefs, ...(spec.targetRef === undefined ? [] : [spec.targetRef])];
  if (references.length > 0)
    return references.map((reference) => reasonOfReference(database, namespace, reference)).join("; ");
  const labels = Object.entries(spec.selector?.matchLabels ?? {}).map(([name, value]) => `${name}=${value}`);
  return labels.length > 0
    ? `its selector is ${labels.join(", ")}`
    : "workloads of a Gateway of the Gateway API need targetRefs";
}

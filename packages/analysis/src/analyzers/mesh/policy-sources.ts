import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
} from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import type { Source } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { mesh, namespacePeerModes } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { serviceWithAddress } from "../../queries/addresses.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { workloadsOfPolicy } from "../../queries/policy-workloads.js";
import { listNames } from "../../suggestions.js";

export const policySourceAnalyzer: Analyzer = {
  name: "mesh.PolicySourceAnalyzer",
  description: "Checks that sources of AuthorizationPolicies exist and can be known",
  codes: ["MESH0004", "MESH0014"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkPolicy)],
};

function checkPolicy(policy: AuthorizationPolicyObject, context: AnalysisContext): void {
  const identities: FieldPath[] = [];
  for (const [i, { from }] of policy.spec.rules.entries())
    for (const [j, { source }] of from.entries()) {
      if (source === undefined) continue;
      const path = ["spec", "rules", i, "from", j, "source"];
      checkSource(source, path, context);
      const [first] = identityFields.filter((field) => source[field].length > 0);
      if (first !== undefined) identities.push([...path, first]);
    }
  checkIdentities(policy, identities, context);
}

const identityFields = ["principals", "namespaces", "serviceAccounts"] as const;

/** Reports identities that are required where PeerAuthentication disables mutual TLS, so that nobody has one. */
function checkIdentities(
  { namespace, spec }: AuthorizationPolicyObject,
  identities: readonly FieldPath[],
  { q, report }: AnalysisContext,
): void {
  if (identities.length === 0) return;
  const plain = workloadsOfPolicy(q, { ...spec, namespace }).find(
    (pod) => namespacePeerModes(q, pod.namespace)(pod.labels).mode === "DISABLE",
  );
  if (plain === undefined) return;
  for (const path of identities)
    report(
      "MESH0014",
      path,
      `${String(path.at(-1))} never match, because mutual TLS is disabled (PeerAuthentication DISABLE) for workloads of namespace ${plain.namespace}, and clients have no identity without it; set mode PERMISSIVE or STRICT`,
    );
}

function checkSource(source: Source, path: FieldPath, { q, report }: AnalysisContext): void {
  for (const field of ["principals", "notPrincipals"] as const)
    for (const [i, principal] of source[field].entries()) {
      const [, domain, namespace] = /^([^/*]+)\/ns\/([^/*]+)\/sa\/[^/]+$/.exec(principal) ?? [];
      if (domain === undefined || namespace === undefined) continue;
      const unknown = unknownDomain(q, domain);
      const fault = unknown === undefined ? faultOfNamespace(q, namespace) : undefined;
      if (unknown !== undefined) report("MESH0014", [...path, field, i], unknown, "Info");
      if (fault !== undefined) report("MESH0004", [...path, field, i], fault);
    }
  for (const field of ["ipBlocks", "notIpBlocks", "remoteIpBlocks", "notRemoteIpBlocks"] as const)
    for (const [i, block] of source[field].entries()) {
      const service = serviceWithAddress(q, block.replace(/\/(32|128)$/, ""));
      if (service !== undefined)
        report(
          "MESH0014",
          [...path, field, i],
          `${block} is the address of Service ${service}, from which no connection comes: the source is the address of a client's Pod; name its namespace or service account instead`,
        );
    }
}

/** Explains that no client is expected to have a trust domain; undefined if it is one of the mesh. */
function unknownDomain(q: QueryContext, domain: string): string | undefined {
  const { trustDomain, trustDomainAliases, caCertificates } = mesh(q);
  const known = [
    "cluster.local",
    trustDomain,
    ...trustDomainAliases,
    ...caCertificates.flatMap((ca) => ca.trustDomains),
  ];
  if (known.includes(domain)) return undefined;
  const own = [...new Set(known)].filter((name) => name !== "");
  return `trust domain ${domain} is not one of the mesh, which has ${listNames(own)}, so that only clients of another mesh match; write the trust domain of the mesh, or cluster.local`;
}

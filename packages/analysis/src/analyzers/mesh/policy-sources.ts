import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
  serviceAccounts,
} from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import type { Source } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { mesh, namespacePeerModes } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { serviceWithAddress } from "../../queries/addresses.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { workloadsOfPolicy } from "../../queries/policy-workloads.js";
import { serviceAccountsIn } from "../../queries/pods.js";
import { nearestNames } from "@istiod/settings";
import { listNames, quotedNearest } from "../../suggestions.js";

export const policySourceAnalyzer: Analyzer = {
  name: "mesh.PolicySourceAnalyzer",
  description: "Checks that sources of AuthorizationPolicies exist and can be known",
  codes: ["MESH0004", "MESH0014"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkPolicy)],
};

function checkPolicy(policy: AuthorizationPolicyObject, context: AnalysisContext): void {
  const identities: Identity[] = [];
  for (const [i, { from, when }] of policy.spec.rules.entries()) {
    for (const [j, { key, values, notValues }] of when.entries()) {
      const path = ["spec", "rules", i, "when", j];
      checkCondition(key, values, [...path, "values"], policy, context);
      checkCondition(key, notValues, [...path, "notValues"], policy, context);
      if (identityKeys.has(key) && values.length > 0)
        identities.push({ name: key, verb: "matches", path: [...path, "key"] });
    }
    for (const [j, { source }] of from.entries()) {
      if (source === undefined) continue;
      const path = ["spec", "rules", i, "from", j, "source"];
      checkSource(source, path, policy, context);
      const [first] = identityFields.filter((field) => source[field].length > 0);
      if (first !== undefined) identities.push({ name: first, verb: "match", path: [...path, first] });
    }
  }
  checkIdentities(policy, identities, context);
}

/** A condition on the identity of the client. */
interface Identity {
  readonly name: string;
  /** That of messages about it: the names of fields are plurals. */
  readonly verb: "match" | "matches";
  readonly path: FieldPath;
}

/** Keys of conditions on the identity of the client. */
const identityKeys: ReadonlySet<string> = new Set(["source.principal", "source.namespace", "source.serviceAccount"]);

/** Checks the values of a condition in `when` as those of the field of `from` that means the same. */
function checkCondition(
  key: string,
  values: readonly string[],
  path: FieldPath,
  policy: AuthorizationPolicyObject,
  context: AnalysisContext,
): void {
  if (key === "source.principal") checkPrincipals(values, path, context);
  else if (key === "source.serviceAccount") checkAccounts(values, path, policy, context);
  else if (key === "source.ip" || key === "remote.ip") checkBlocks(values, path, context);
  else if (key === "source.namespace")
    for (const [i, namespace] of values.entries()) {
      const fault = namespace.includes("*") ? undefined : faultOfNamespace(context.q, namespace);
      if (fault !== undefined) context.report("MESH0004", [...path, i], fault);
    }
}

const identityFields = ["principals", "namespaces", "serviceAccounts"] as const;

/** Reports identities that are required where PeerAuthentication disables mutual TLS, so that nobody has one. */
function checkIdentities(
  { namespace, spec }: AuthorizationPolicyObject,
  identities: readonly Identity[],
  { q, report }: AnalysisContext,
): void {
  if (identities.length === 0) return;
  const plain = workloadsOfPolicy(q, { ...spec, namespace }).find(
    (pod) => namespacePeerModes(q, pod.namespace)(pod.labels).mode === "DISABLE",
  );
  if (plain === undefined) return;
  for (const { name, verb, path } of identities)
    report(
      "MESH0014",
      path,
      `${name} never ${verb}, because mutual TLS is disabled (PeerAuthentication DISABLE) for workloads of namespace ${plain.namespace}, and clients have no identity without it; set mode PERMISSIVE or STRICT`,
    );
}

function checkSource(
  source: Source,
  path: FieldPath,
  policy: AuthorizationPolicyObject,
  context: AnalysisContext,
): void {
  for (const field of ["principals", "notPrincipals"] as const)
    checkPrincipals(source[field], [...path, field], context);
  for (const field of ["serviceAccounts", "notServiceAccounts"] as const)
    checkAccounts(source[field], [...path, field], policy, context);
  for (const field of ["ipBlocks", "notIpBlocks", "remoteIpBlocks", "notRemoteIpBlocks"] as const)
    checkBlocks(source[field], [...path, field], context);
}

function checkPrincipals(principals: readonly string[], path: FieldPath, { q, report }: AnalysisContext): void {
  for (const [i, principal] of principals.entries()) {
    const [, domain, namespace, account = ""] = /^([^/*]+)\/ns\/([^/*]+)\/sa\/([^/]+)$/.exec(principal) ?? [];
    if (domain === undefined || namespace === undefined) continue;
    const unknown = unknownDomain(q, domain);
    const fault = unknown === undefined ? faultOfNamespace(q, namespace) : undefined;
    if (unknown !== undefined) report("MESH0014", [...path, i], unknown, "Info");
    if (fault !== undefined) report("MESH0004", [...path, i], fault);
    const misspelled =
      unknown === undefined && fault === undefined ? misspelledAccount(q, namespace, account) : undefined;
    if (misspelled !== undefined) report("MESH0014", [...path, i], misspelled, "Info");
  }
}

function checkAccounts(
  accounts: readonly string[],
  path: FieldPath,
  { namespace: own }: AuthorizationPolicyObject,
  { q, report }: AnalysisContext,
): void {
  for (const [i, value] of accounts.entries()) {
    const [namespace = "", account = ""] = value.includes("/") ? value.split("/") : [own, value];
    const misspelled = misspelledAccount(q, namespace, account);
    if (misspelled !== undefined) report("MESH0014", [...path, i], misspelled, "Info");
  }
}

/**
 * Explains that no workload runs with a service account, and one with a similar name does; undefined otherwise:
 * workloads may come later, or be those of another cluster.
 */
function misspelledAccount(q: QueryContext, namespace: string, account: string): string | undefined {
  if (account === "" || account.includes("*") || q.members(serviceAccountsByName, `${namespace}/${account}`).length > 0)
    return undefined;
  const known = q.call(serviceAccountsIn, namespace);
  const near = known.includes(account) ? [] : nearestNames(account, known);
  return near.length === 0
    ? undefined
    : `no workload of namespace ${namespace} runs with service account ${JSON.stringify(account)}${quotedNearest(near)}`;
}

/** ServiceAccounts of all clusters by `ns/name`. */
const serviceAccountsByName = index(serviceAccounts, "byNameInMesh", ({ namespace, name }) => [`${namespace}/${name}`]);

function checkBlocks(blocks: readonly string[], path: FieldPath, { q, report }: AnalysisContext): void {
  for (const [i, block] of blocks.entries()) {
    const service = serviceWithAddress(q, block.replace(/\/(32|128)$/, ""));
    if (service !== undefined)
      report(
        "MESH0014",
        [...path, i],
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

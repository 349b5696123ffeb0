import { check, type Check, type PolicyDecision, type Question, ruleName } from "@istiod/authorization";
import type { Subnet } from "@istiod/e2e";
import { type EnvoyAnswer, EnvoyAsker } from "./ask-envoy.js";
import type { Callers } from "./callers.js";
import { caseMesh, generatedFilters, podOf, ports } from "./case-mesh.js";
import type { Case, RandomRequest } from "./cases.js";
import { startPolicyEnvoy } from "./policy-envoy.js";

export interface CompareOptions {
  readonly binary: string;
  readonly subnet: Subnet;
  readonly callers: Callers;
  readonly normalization: string;
}

/** The comparison of cases with an Envoy. */
export interface Comparison {
  /** Differences, for people. */
  readonly faults: readonly string[];
  /** Number of answers by kind. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/** Asks an Envoy and the evaluator about the same cases. At most 190, since each has an address of its own. */
export async function compare(all: readonly Case[], options: CompareOptions): Promise<Comparison> {
  const { binary, subnet, callers, normalization } = options;
  const workloads = all.map(({ policies }, n) => ({ address: subnet.address(n + 2), policies }));
  const database = caseMesh(workloads, callers, normalization);
  const outcomes: Record<string, number> = {};
  const envoy = await startPolicyEnvoy({
    binary,
    admin: subnet.address(1),
    server: callers.identities[0]!,
    callers,
    workloads: workloads.map(({ address }, n) => ({ address, filters: generatedFilters(database, n) })),
  });
  const asker = new EnvoyAsker(callers);
  const faults: string[] = [];
  try {
    for (const [n, { policies, request }] of all.entries()) {
      const { address } = workloads[n]!;
      const [http] = await check(database, questionOf(callers, request, n, ports.http));
      const answer = await asker.ask(address, n, request);
      const [tcp] = await check(database, questionOf(callers, request, n, ports.tcp));
      const connects = await asker.connects(address, request);
      for (const key of [`HTTP ${answer.status}`, `TCP ${connects}`]) outcomes[key] = (outcomes[key] ?? 0) + 1;
      const differences = [
        ...differencesOf(http!, answer),
        ...(isAllowed(tcp!.decision) === connects ? [] : [`TCP: Envoy ${connects ? "allows" : "denies"}`]),
      ];
      if (differences.length > 0)
        faults.push(
          `${normalization} ${n}: ${differences.join("; ")}\n${JSON.stringify(request)}\n${JSON.stringify(policies)}\n${JSON.stringify([http?.decision, tcp?.decision])}\n${JSON.stringify(answer)}`,
        );
    }
  } finally {
    asker.close();
    await envoy.close();
  }
  return { faults, outcomes };
}

function questionOf(callers: Callers, request: RandomRequest, n: number, port: number): Question {
  const { identity, source, sni, method, path, host, headers, token } = request;
  const isWeb = port === ports.http;
  const sample = headers.find(([name]) => name === "x-sample-role")?.[1];
  return {
    from: identity === undefined ? "none" : callers.identities[identity]!.spiffeId,
    to: `${podOf(n)}:${port}`,
    sourceIp: callers.addresses[source]!,
    sni: identity === undefined ? "" : sni,
    ...(isWeb && {
      method,
      path,
      host,
      headers: headers.map(([name, value]) => `${name}: ${value}`),
      ...(token !== undefined && { jwt: callers.tokens[token]! }),
      ...(sample !== undefined && { filterMetadata: [`envoy.filters.http.sample[role]="${sample}"`] }),
    }),
  };
}

/** Returns the decision after all external providers have allowed. */
function last(
  decision: PolicyDecision | Check["decision"],
): Exclude<PolicyDecision, { readonly outcome: "external" }> | Check["decision"] {
  return decision.outcome === "external" ? last(decision.then) : decision;
}

function isAllowed(decision: Check["decision"]): boolean {
  return last(decision).outcome === "allow";
}

function differencesOf({ decision, request, token, policies }: Check, answer: EnvoyAnswer): string[] {
  const final = last(decision);
  const isTokenRefused =
    token.state === "invalid" && final.outcome === "deny" && !("by" in final) && final.reason === token.reason;
  const status =
    request?.rejected !== undefined
      ? request.rejectedStatus
      : isTokenRefused
        ? token.status
        : final.outcome === "deny"
          ? 403
          : 200;
  if (status !== answer.status) return [`HTTP: expected ${status}, Envoy ${answer.status}`];
  const differences: string[] = [];
  if (status === 200 && answer.path !== request?.normalizedPath)
    differences.push(`path: expected ${request?.normalizedPath}, Envoy ${answer.path}`);
  if (answer.details.startsWith("rbac_access_denied")) {
    const by = "by" in final && final.by !== undefined ? ruleName(final.by) : "none";
    // A bad provider's rule has a prefix and a suffix.
    if (!answer.details.includes(by)) differences.push(`rule: expected ${by}, Envoy ${answer.details}`);
  }
  if (decision.outcome === "external") {
    const id = answer.rbac["istio_ext_authz_shadow_effective_policy_id"] ?? "";
    if (status === 200 && !id.endsWith(ruleName(decision.by)))
      differences.push(`external: expected ${ruleName(decision.by)}, Envoy ${id}`);
  } else if (answer.rbac["istio_ext_authz_shadow_effective_policy_id"] !== undefined && status === 200)
    differences.push("external: Envoy asks the provider");
  if (status === 200) {
    for (const action of ["DENY", "ALLOW"]) {
      const prefix = `istio_dry_run_${action.toLowerCase()}_shadow_effective_policy_id`;
      const matches = policies.some((policy) => policy.action === action && policy.dryRun && policy.matches);
      if (matches !== (answer.rbac[prefix] !== undefined)) differences.push(`dry run ${action}: expected ${matches}`);
    }
  }
  return differences;
}

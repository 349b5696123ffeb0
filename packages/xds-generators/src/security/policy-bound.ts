import { create } from "@bufbuild/protobuf";
import { fact, query, type QueryContext } from "@istiod/incremental";
import { RuleSchema } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import {
  applicableAuthorizationPolicies,
  applicableJwtRules,
  applicableRequestAuthentications,
  type ApplicablePolicies,
  features,
  type Proxy,
  rejectsAllRequests,
} from "@istiod/push-context";
import type { Filter, HttpFilter } from "../envoy/filters.js";
import type { ListenerConflict } from "../listeners/listener-conflicts.js";
import { protectedChains } from "../listeners/protected-chains.js";
import { writtenHttpAuthorization, writtenTcpAuthorization } from "./authorization/written-authorization.js";
import { writtenJwtFilters } from "./jwt-authentication.js";

/** Policies up to this many bytes are no more than the rest of each filter chain. */
const fewBytes = 4096;

/**
 * The reason why the client's policies are not sent: each of its filter chains repeats them, and they would be too many
 * bytes in all. Undefined if they are sent. To leave out a policy or a chain would permit what they deny, so everything
 * is denied instead, as for a rejected policy.
 */
export const policiesOverBound = query("policiesOverBound", (q): string | undefined =>
  httpBytes(q) <= fewBytes ? undefined : q.ask(overBound),
);

/** The answer of each client, so that clients whose policies are sent share them whatever their chains. */
const overBound = fact("policiesOverBound", (_: Proxy, __: void, q) => {
  const chains = q.call(protectedChains);
  const http = httpBytes(q);
  const tcp = chains.tcp === 0 ? 0 : sizeOf(q.call(writtenTcpAuthorization, "certificate"));
  const bytes = chains.http * http + chains.tcp * tcp;
  const bound = features.maxPolicyBytes(q);
  if (bytes <= bound) return undefined;
  const terms = [`${chains.http} HTTP filter chains × ${http}`, `${chains.tcp} TCP filter chains × ${tcp}`];
  return `${terms.join(" + ")} bytes of policies = ${bytes} bytes, of at most ${bound} (${features.maxPolicyBytes.variable})`;
});

function httpBytes(q: QueryContext): number {
  return sizeOf(q.call(writtenHttpAuthorization, "certificate")) + sum(q.call(writtenJwtFilters));
}

function sizeOf<F extends Filter | HttpFilter>({
  custom,
  local,
}: {
  custom: readonly F[];
  local: readonly F[];
}): number {
  return sum(custom) + sum(local);
}

function sum(filters: readonly (Filter | HttpFilter)[]): number {
  return filters.reduce(
    (bytes, { configType }) => bytes + (configType.case === "typedConfig" ? configType.value.value.length : 0),
    0,
  );
}

/**
 * The AuthorizationPolicies that the client enforces: those that apply, or a single denial in their place. Those that
 * only report are replaced by nothing.
 */
export const enforcedAuthorizationPolicies = query("enforcedAuthorizationPolicies", (q): ApplicablePolicies => {
  const applicable = q.call(applicableAuthorizationPolicies);
  if (q.call(policiesOverBound) === undefined) return applicable;
  const { custom, deny, allow } = applicable;
  const first = [...deny, ...allow, ...custom].find(({ dryRun }) => !dryRun);
  const denial = first && {
    namespace: first.namespace,
    name: `${first.name} (over bound)`,
    dryRun: false,
    provider: "",
    rules: [create(RuleSchema)],
  };
  return { custom: [], audit: [], deny: denial === undefined ? [] : [denial], allow: [] };
});

/**
 * The reason why the client rejects every HTTP request as if it had no valid token; undefined if it does not.
 */
export const rejectsEveryToken = query("rejectsEveryToken", (q): string | undefined => {
  if (q.call(rejectsAllRequests)) return "a RequestAuthentication that applies was rejected";
  return q.call(applicableJwtRules).length > 0 ? q.call(policiesOverBound) : undefined;
});

/** Policies in whose place everything is denied. */
export const deniedPolicies = query("deniedPolicies", (q): readonly ListenerConflict[] => {
  const over = q.call(policiesOverBound);
  if (over === undefined) return [];
  const { custom, audit, deny, allow } = q.call(applicableAuthorizationPolicies);
  const policies = [...custom, ...audit, ...deny, ...allow].map((policy) => ({
    policy,
    object: "AuthorizationPolicy",
  }));
  const rules = q.call(applicableRequestAuthentications).map((policy) => ({ policy, object: "RequestAuthentication" }));
  return [...policies, ...rules].map(({ policy: { namespace, name }, object }) => ({
    bind: "",
    ignored: {
      kind: "policy",
      object: object as "AuthorizationPolicy" | "RequestAuthentication",
      policy: `${namespace}/${name}`,
    },
    reason: `with all policies of the workload, and every request is denied in their place: ${over}`,
  }));
});

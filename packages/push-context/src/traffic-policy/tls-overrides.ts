import { equals } from "@bufbuild/protobuf";
import { type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import { backendPolicyRules } from "@istiod/gateway-api";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettingsSchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { rootNamespace } from "../mesh/mesh-config.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { portPolicy } from "./effective-policy.js";
import { rulesByNamespace } from "./namespace-rules.js";
import { applyingRules } from "./overridden-parts.js";

/** TLS settings that a policy of the Gateway API declares for a host. */
export interface DeclaredTls {
  readonly host: string;
  /** Namespace of the policy and of its target. */
  readonly namespace: string;
  readonly ports: readonly number[];
  readonly tls: ClientTLSSettings;
}

/** A user's rule because of which some clients do not get TLS settings that a policy declares. */
export interface TlsOverride {
  /** The rule, with whose workload selector or in whose namespace the clients are. */
  readonly rule: DestinationRuleObject;
  /** Ports for which they do not get them. */
  readonly ports: readonly number[];
}

/**
 * Returns the rules because of which clients do not get TLS settings that a policy declares. It follows from the same
 * merges that clusters are generated from. Ports whose settings another policy declares are left out.
 */
export function tlsOverrides(q: QueryContext, { host, namespace, ports, tls }: DeclaredTls): readonly TlsOverride[] {
  const derived = q.call(backendPolicyRules, host).filter((rule) => rule.namespace === namespace);
  const own = ports.filter((port) => derived.some((rule) => isSame(tlsOf(rule, port), tls)));
  const found = new Map<string, { readonly rule: DestinationRuleObject; readonly ports: Set<number> }>();
  for (const merged of mergesFor(q, host, namespace)) {
    const users = merged.from.flatMap((key) => q.read(destinationRules, key) ?? []);
    for (const port of own) {
      const applied = tlsOf(merged, port);
      if (isSame(applied, tls)) continue;
      const rule = users.find((each) => decides(each, port, applied)) ?? users[0];
      if (rule === undefined) continue;
      const key = `${rule.namespace}/${rule.name}`;
      const entry = found.get(key) ?? { rule, ports: new Set<number>() };
      entry.ports.add(port);
      found.set(key, entry);
    }
  }
  return [...found.values()].map(({ rule, ports: of }) => ({ rule, ports: [...of].sort((a, b) => a - b) }));
}

/** Returns the rules that apply to clients of each namespace, or to those that have none of their own. */
function mergesFor(q: QueryContext, host: string, namespace: string): readonly ConsolidatedRule[] {
  const root = rootNamespace(q);
  return Object.entries(q.call(rulesByNamespace, host)).flatMap(([owner, { local, rootPrivate, exported }]) => [
    ...applyingRules(owner === root ? rootPrivate : local, true),
    ...(owner === namespace ? applyingRules(exported[0] ?? [], false) : []),
  ]);
}

/** Reports whether a merged rule has the settings of a port, or none, from one of its rules. */
function decides(rule: DestinationRuleObject, port: number, applied: ClientTLSSettings | undefined): boolean {
  if (applied !== undefined) return isSame(tlsOf(rule, port), applied);
  return rule.spec.trafficPolicy?.portLevelSettings.some((settings) => settings.port?.number === port) === true;
}

function tlsOf({ spec }: Pick<DestinationRuleObject, "spec">, port: number): ClientTLSSettings | undefined {
  return portPolicy(spec.trafficPolicy, port)?.tls;
}

function isSame(a: ClientTLSSettings | undefined, b: ClientTLSSettings): boolean {
  return a !== undefined && equals(ClientTLSSettingsSchema, a, b);
}

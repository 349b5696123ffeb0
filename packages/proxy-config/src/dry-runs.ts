import type { MessageShape } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import type { RBAC } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { RBACSchema as TcpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac";
import type { ConfigDump } from "./dump/config-dump.js";
import { filterChains } from "./resources/listeners/filter-chains.js";
import { listeners } from "./resources/listeners/listeners.js";

/** An AuthorizationPolicy that a proxy evaluates without enforcing it. */
export interface DryRunPolicy {
  readonly namespace: string;
  readonly name: string;
  /** Indexes of its rules in the proxy, ascending. */
  readonly rules: readonly number[];
}

/** The dry runs of one action that an Envoy counts together. */
export interface DryRunCount {
  readonly action: "ALLOW" | "DENY";
  readonly traffic: "requests" | "connections";
  /** Prefix of the statistics, such as `http.inbound_0.0.0.0_8080.` or `tcp.`. */
  readonly statPrefix: string;
  /** Sorted by namespace and name. */
  readonly policies: readonly DryRunPolicy[];
  /** Since the start of the proxy or the last reset; undefined if Envoy does not have the statistics. */
  readonly counted?: { readonly allowed: number; readonly denied: number };
}

/** Prefixes of the statistics of dry runs. Source: pilot/pkg/security/authz/model/model.go. */
const actions = { istio_dry_run_allow_: "ALLOW", istio_dry_run_deny_: "DENY" } as const;

/**
 * Returns the dry runs in a proxy's listeners with the counts of its statistics.
 *
 * @param stats response of the admin endpoint `/stats`
 */
export function dryRunCounts(dump: ConfigDump, stats: string): readonly DryRunCount[] {
  const values = readCounters(stats);
  const groups = new Map<string, ShadowRules[]>();
  for (const { message } of listeners(dump))
    for (const chain of filterChains(message))
      for (const rules of shadowRulesOf(chain)) {
        const group = groups.get(statOf(rules)) ?? [];
        groups.set(statOf(rules), group);
        group.push(rules);
      }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([stat, group]) => group.slice(0, 1).map((first) => countOf(stat, first, group, values)));
}

/** Formats counts as sentences for people. */
export function formatDryRuns(counts: readonly DryRunCount[]): string {
  if (counts.length === 0) return "The proxy has no dry run of an AuthorizationPolicy.\n";
  const note =
    "Counts are since the start of the proxy, or the last reset, and include earlier dry runs of the action.";
  return [...counts.map(sentenceOf), note].map((line) => `${line}\n`).join("");
}

function sentenceOf({ action, traffic, statPrefix, policies, counted }: DryRunCount): string {
  const names = policies.map(({ namespace, name }) => `${namespace}/${name}`).join(", ");
  const kind = policies.length === 1 ? "dry run" : "dry runs, counted together";
  const title = `${action} ${names} (${kind}), ${statPrefix.replace(/\.$/, "")}:`;
  if (counted === undefined)
    return `${title} not counted, since Envoy has no statistic ${statPrefix}rbac.….shadow_denied; does proxyStatsMatcher include it?`;
  const all = counted.allowed + counted.denied;
  return action === "DENY"
    ? `${title} would have denied ${counted.denied} of ${all} ${traffic}`
    : `${title} no rule matched ${counted.denied} of ${all} ${traffic}; they would have been denied unless an enforced ALLOW policy allows them`;
}

/** The shadow rules of an RBAC filter. */
interface ShadowRules {
  readonly shadowPrefix: keyof typeof actions;
  readonly traffic: DryRunCount["traffic"];
  readonly statPrefix: string;
  readonly rules: RBAC;
}

function statOf({ statPrefix, shadowPrefix }: ShadowRules): string {
  return `${statPrefix}rbac.${shadowPrefix}.shadow_`;
}

function countOf(
  stat: string,
  { shadowPrefix, traffic, statPrefix }: ShadowRules,
  group: readonly ShadowRules[],
  values: ReadonlyMap<string, number>,
): DryRunCount {
  const [allowed, denied] = [values.get(`${stat}allowed`), values.get(`${stat}denied`)];
  return {
    action: actions[shadowPrefix],
    traffic,
    statPrefix,
    policies: policiesOf(group.flatMap(({ rules }) => Object.keys(rules.policies))),
    ...(allowed !== undefined && denied !== undefined && { counted: { allowed, denied } }),
  };
}

/** Returns the policies that names of RBAC policies, such as `ns[shop]-policy[a]-rule[0]`, belong to. */
function policiesOf(names: readonly string[]): readonly DryRunPolicy[] {
  const found = new Map<string, { readonly namespace: string; readonly name: string; readonly rules: Set<number> }>();
  for (const text of names) {
    const groups = /ns\[(?<namespace>[^\]]*)\]-policy\[(?<name>[^\]]*)\]-rule\[(?<rule>\d+)\]$/.exec(text)?.groups;
    if (groups === undefined) continue;
    const { namespace = "", name = "", rule = "" } = groups;
    const policy = found.get(`${namespace}/${name}`) ?? { namespace, name, rules: new Set<number>() };
    found.set(`${namespace}/${name}`, policy);
    policy.rules.add(Number(rule));
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { rules, ...policy }]) => ({ ...policy, rules: [...rules].sort((a, b) => a - b) }));
}

function shadowRulesOf({ filters }: FilterChain): readonly ShadowRules[] {
  return filters.flatMap(({ configType }) => {
    if (configType.case !== "typedConfig") return [];
    const tcp = anyUnpack(configType.value, TcpRbacSchema);
    if (tcp !== undefined) return shadowRules(tcp, "connections", tcp.statPrefix);
    const manager = anyUnpack(configType.value, HttpConnectionManagerSchema);
    return (manager?.httpFilters ?? []).flatMap((filter) => {
      const http =
        filter.configType.case === "typedConfig" ? anyUnpack(filter.configType.value, HttpRbacSchema) : undefined;
      return http === undefined ? [] : shadowRules(http, "requests", `http.${manager?.statPrefix ?? ""}.`);
    });
  });
}

function shadowRules(
  {
    shadowRules: rules,
    shadowRulesStatPrefix: shadowPrefix,
  }: Pick<MessageShape<typeof HttpRbacSchema>, "shadowRules" | "shadowRulesStatPrefix">,
  traffic: DryRunCount["traffic"],
  statPrefix: string,
): readonly ShadowRules[] {
  if (rules === undefined || !isDryRunPrefix(shadowPrefix)) return [];
  // Envoy replaces colons, as in IPv6 addresses.
  return [{ shadowPrefix, traffic, statPrefix: statPrefix.replaceAll(":", "_"), rules }];
}

function isDryRunPrefix(text: string): text is keyof typeof actions {
  return Object.hasOwn(actions, text);
}

/** Parses the counters and gauges of `/stats`. */
function readCounters(text: string): ReadonlyMap<string, number> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const found = /^(.+): (\d+)\s*$/.exec(line);
      return found === null ? [] : [[found[1] ?? "", Number(found[2])] as const];
    }),
  );
}

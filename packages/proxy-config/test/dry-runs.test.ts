import { dryRunCounts, formatDryRuns } from "@istiod/proxy-config";
import { expect, it } from "vitest";
import { listenerDump } from "./dumps.js";

const types = "type.googleapis.com/envoy.extensions.filters";
const name = (policy: string, rule: number): string => `ns[shop]-policy[${policy}]-rule[${rule}]`;

function rbac(kind: "http" | "network", prefix: string, names: readonly string[], more: object = {}): object {
  const policies = Object.fromEntries(
    names.map((each) => [each, { permissions: [{ any: true }], principals: [{ any: true }] }]),
  );
  return {
    name: `envoy.filters.${kind}.rbac`,
    typed_config: {
      "@type": `${types}.${kind}.rbac.v3.RBAC`,
      shadow_rules: { action: prefix.includes("deny") ? "DENY" : "ALLOW", policies },
      shadow_rules_stat_prefix: prefix,
      ...more,
    },
  };
}

const manager = (statPrefix: string, httpFilters: readonly object[]): object => ({
  name: "envoy.filters.network.http_connection_manager",
  typed_config: {
    "@type": `${types}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: statPrefix,
    http_filters: httpFilters,
  },
});

const dump = listenerDump({
  name: "virtualInbound",
  filter_chains: [
    {
      filters: [
        manager("inbound_10.1.0.1_80;", [
          rbac("http", "istio_dry_run_deny_", [name("b", 1), name("b", 0), name("a", 0)]),
          rbac("http", "istio_dry_run_allow_", [name("c", 0)]),
          rbac("http", "istio_ext_authz_", [`istio-ext-authz-${name("custom", 0)}`]),
        ]),
      ],
    },
    // The chain of plaintext has the same prefix.
    { filters: [manager("inbound_10.1.0.1_80;", [rbac("http", "istio_dry_run_deny_", [name("a", 0)])])] },
    { filters: [manager("inbound_[::1]_80;", [rbac("http", "istio_dry_run_deny_", [name("six", 0)])])] },
    { filters: [rbac("network", "istio_dry_run_deny_", [name("tcp", 0)], { stat_prefix: "tcp." })] },
  ],
});
const stats = `http.inbound_10.1.0.1_80;.rbac.istio_dry_run_allow_.shadow_allowed: 1
http.inbound_10.1.0.1_80;.rbac.istio_dry_run_allow_.shadow_denied: 2
http.inbound_10.1.0.1_80;.rbac.istio_dry_run_deny_.shadow_allowed: 3
http.inbound_10.1.0.1_80;.rbac.istio_dry_run_deny_.shadow_denied: 4
http.inbound_[__1]_80;.rbac.istio_dry_run_deny_.shadow_allowed: 5
http.inbound_[__1]_80;.rbac.istio_dry_run_deny_.shadow_denied: 6
http.inbound_10.1.0.1_80;.downstream_cx_length_ms: P0(nan,1)
`;

it("dry runs of a proxy are named with the counts that Envoy has for them", () => {
  const http = { traffic: "requests", statPrefix: "http.inbound_10.1.0.1_80;." } as const;
  const policy = (of: string, ...rules: readonly number[]): object => ({ namespace: "shop", name: of, rules });
  expect(dryRunCounts(dump, stats)).toEqual([
    { ...http, action: "ALLOW", policies: [policy("c", 0)], counted: { allowed: 1, denied: 2 } },
    { ...http, action: "DENY", policies: [policy("a", 0), policy("b", 0, 1)], counted: { allowed: 3, denied: 4 } },
    {
      action: "DENY",
      traffic: "requests",
      statPrefix: "http.inbound_[__1]_80;.",
      policies: [policy("six", 0)],
      counted: { allowed: 5, denied: 6 },
    },
    { action: "DENY", traffic: "connections", statPrefix: "tcp.", policies: [policy("tcp", 0)] },
  ]);
});

it("the sentences say which dry runs are counted together, and which are not counted", () => {
  expect(formatDryRuns(dryRunCounts(dump, stats)).split("\n")).toEqual([
    "ALLOW shop/c (dry run), http.inbound_10.1.0.1_80;: no rule matched 2 of 3 requests; they would have been denied unless an enforced ALLOW policy allows them",
    "DENY shop/a, shop/b (dry runs, counted together), http.inbound_10.1.0.1_80;: would have denied 4 of 7 requests",
    "DENY shop/six (dry run), http.inbound_[__1]_80;: would have denied 6 of 11 requests",
    "DENY shop/tcp (dry run), tcp: not counted, since Envoy has no statistic tcp.rbac.….shadow_denied; does proxyStatsMatcher include it?",
    "Counts are since the start of the proxy, or the last reset, and include earlier dry runs of the action.",
    "",
  ]);
  expect(formatDryRuns(dryRunCounts(listenerDump(), ""))).toBe("The proxy has no dry run of an AuthorizationPolicy.\n");
});

import { describe, expect, it } from "vitest";
import {
  chainsOf,
  filterNames,
  filterOf,
  httpChain,
  httpFilterNames,
  httpFilterOf,
  listenerOf,
  managerOf,
} from "../listeners/listener-parts.js";
import { podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";

const rbac = "envoy.filters.http.rbac";
const extAuthz = "envoy.filters.http.ext_authz";
const web =
  serviceYaml("web", { ports: ["http:80:8080", "tcp:90:9090"] }) +
  podYaml("web", "10.1.0.1", { ports: { http: 8080, tcp: 9090 } });
const self = { ip: "10.1.0.1", name: "web-10-1-0-1", labels: { app: "web" } };

function policy(
  name: string,
  spec: object,
  options: { namespace?: string; annotations?: object; day?: number } = {},
): string {
  const { namespace = "shop", annotations = {}, day = 1 } = options;
  const metadata = {
    name,
    namespace,
    annotations,
    creationTimestamp: `2024-01-${String(day).padStart(2, "0")}T00:00:00Z`,
  };
  return `---\n${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", metadata, spec })}\n`;
}

const requests = (yaml: string, config: object = {}): Json =>
  httpChain(listenerOf(new TestMesh(web + yaml, config as never).proxy(self), "virtualInbound"));
const rules = (chain: Json): Json[] =>
  managerOf(chain)
    .httpFilters.filter(({ name }: Json) => name === rbac)
    .map(({ typedConfig }: Json) => typedConfig);
const from = (principals: readonly string[]): object => ({ from: [{ source: { principals } }] });
const path = (paths: readonly string[]): object => ({ to: [{ operation: { paths } }] });

describe("AuthorizationPolicies", () => {
  it("are ordered audit, deny, allow, after peer metadata and before other filters", () => {
    const yaml =
      policy("allow", { rules: [path(["/a"])] }) +
      policy("deny", { action: "DENY", rules: [path(["/d"])] }) +
      policy("audit", { action: "AUDIT", rules: [path(["/l"])] });
    const chain = requests(yaml);
    expect(rules(chain).map(({ rules: { action = "ALLOW", policies } }) => [action, Object.keys(policies)])).toEqual([
      ["LOG", ["ns[shop]-policy[audit]-rule[0]"]],
      ["DENY", ["ns[shop]-policy[deny]-rule[0]"]],
      ["ALLOW", ["ns[shop]-policy[allow]-rule[0]"]],
    ]);
    expect(httpFilterNames(chain).slice(0, 5)).toEqual([
      "istio.metadata_exchange",
      rbac,
      rbac,
      rbac,
      "envoy.filters.http.grpc_stats",
    ]);
  });

  it("apply to the workloads that they select, in the root namespace to all", () => {
    const yaml =
      policy("mesh", { rules: [{}] }, { namespace: "istio-system" }) +
      policy("own", { rules: [{}] }) +
      policy("other", { rules: [{}] }, { namespace: "other" }) +
      policy("db", { selector: { matchLabels: { app: "db" } }, rules: [{}] });
    const [allow] = rules(requests(yaml));
    expect(Object.keys(allow.rules.policies)).toEqual([
      "ns[istio-system]-policy[mesh]-rule[0]",
      "ns[shop]-policy[own]-rule[0]",
    ]);
  });

  it("without rules allow nothing", () => {
    const [allow] = rules(requests(policy("nothing", {})));
    expect(allow.rules.policies["ns[shop]-policy[nothing]-rule[0]"]).toEqual({
      permissions: [{ notRule: { any: true } }],
      principals: [{ notId: { any: true } }],
    });
  });

  it("with dry-run are shadow rules only", () => {
    const [deny] = rules(
      requests(
        policy("deny", { action: "DENY", rules: [path(["/d"])] }, { annotations: { "istio.io/dry-run": "true" } }),
      ),
    );
    expect(deny.rules).toBeUndefined();
    expect(deny).toMatchObject({ shadowRules: { action: "DENY" }, shadowRulesStatPrefix: "istio_dry_run_deny_" });
  });

  it("accept each of the mesh's trust domains in principals", () => {
    const [allow] = rules(
      requests(policy("allow", { rules: [from(["old/ns/a/sa/b"])] }), {
        trustDomain: "new",
        trustDomainAliases: ["old"],
      }),
    );
    const [principal] = allow.rules.policies["ns[shop]-policy[allow]-rule[0]"].principals;
    expect(principal.andIds.ids[0].orIds.ids.map((id: Json) => id.authenticated.principalName.exact)).toEqual([
      "spiffe://new/ns/a/sa/b",
      "spiffe://old/ns/a/sa/b",
    ]);
  });

  it("quote namespaces in regular expressions", () => {
    const [allow] = rules(requests(policy("allow", { rules: [{ from: [{ source: { namespaces: ["a.b*"] } }] }] })));
    expect(JSON.stringify(allow)).toContain(String.raw`.*/ns/a\\.b.*/.*`);
  });
});

describe("on TCP chains", () => {
  const tcp = (yaml: string): Json => {
    const chains = chainsOf(listenerOf(new TestMesh(web + yaml).proxy(self), "virtualInbound"));
    return chains.find((chain) => chain.filterChainMatch.destinationPort === 9090);
  };

  it("an ALLOW rule about requests matches nothing", () => {
    const chain = tcp(policy("allow", { rules: [path(["/a"]), { to: [{ operation: { ports: ["9090"] } }] }] }));
    expect(filterNames(chain).slice(0, 2)).toEqual(["istio.metadata_exchange", "envoy.filters.network.rbac"]);
    expect(Object.keys(filterOf(chain, "envoy.filters.network.rbac").rules.policies)).toEqual([
      "ns[shop]-policy[allow]-rule[1]",
    ]);
  });

  it("a DENY rule about requests denies by its other attributes", () => {
    const chain = tcp(
      policy("deny", { action: "DENY", rules: [{ ...path(["/a"]), ...from(["cluster.local/ns/a/sa/b"]) }] }),
    );
    const { permissions } = filterOf(chain, "envoy.filters.network.rbac").rules.policies[
      "ns[shop]-policy[deny]-rule[0]"
    ];
    expect(permissions).toEqual([{ andRules: { rules: [{ any: true }] } }]);
  });
});

describe("a CUSTOM policy", () => {
  const authorizer = serviceYaml("authz", { ip: "10.96.0.5", ports: ["grpc:9000"] });
  const grpc = { name: "ext", envoyExtAuthzGrpc: { service: "authz.shop.svc.cluster.local", port: 9000 } };
  const custom = policy("ask", { action: "CUSTOM", provider: { name: "ext" }, rules: [path(["/admin"])] });

  it("asks its provider about matching requests", () => {
    const chain = requests(authorizer + custom, { extensionProviders: [grpc] });
    expect(httpFilterNames(chain).slice(0, 3)).toEqual(["istio.metadata_exchange", rbac, extAuthz]);
    expect(rules(chain)[0]).toMatchObject({
      shadowRulesStatPrefix: "istio_ext_authz_",
      shadowRules: { action: "DENY" },
    });
    expect(Object.keys(rules(chain)[0].shadowRules.policies)).toEqual([
      "istio-ext-authz-ext-ns[shop]-policy[ask]-rule[0]",
    ]);
    expect(httpFilterOf(chain, extAuthz)).toMatchObject({
      grpcService: { envoyGrpc: { clusterName: "outbound|9000||authz.shop.svc.cluster.local" }, timeout: "600s" },
    });
  });

  it("denies matching requests if the provider is invalid", () => {
    for (const providers of [
      [],
      [{ ...grpc, name: "Ext" }],
      [{ ...grpc, envoyExtAuthzGrpc: { service: "nowhere.example.com", port: 9000 } }],
    ]) {
      const chain = requests(authorizer + custom, { extensionProviders: providers });
      expect(httpFilterNames(chain)).not.toContain(extAuthz);
      expect(rules(chain)[0].rules).toMatchObject({ action: "DENY" });
      expect(Object.keys(rules(chain)[0].rules.policies)[0]).toMatch(/-deny-due-to-bad-CUSTOM-action$/);
    }
  });

  it("excludes other providers for its workload, unless several are enabled", () => {
    const second = policy("second", { action: "CUSTOM", provider: { name: "other" }, rules: [path(["/b"])] });
    const providers = { extensionProviders: [grpc, { ...grpc, name: "other" }] };
    const mesh = new TestMesh(web + authorizer + custom + second, providers as never);
    const names = (): string[] => httpFilterNames(httpChain(listenerOf(mesh.proxy(self), "virtualInbound")));
    expect(names()).not.toContain(extAuthz);
    mesh.set("PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS", "true");
    expect(names().filter((name) => name === extAuthz)).toHaveLength(2);
  });
});

describe("an edit of a policy", () => {
  it("affects only the workloads that it selects", () => {
    const mesh = new TestMesh(web);
    const [own, other] = [mesh.proxy(self), mesh.proxy({ name: "other", ip: "10.1.0.9", labels: { app: "other" } })];
    const listeners = "envoy.config.listener.v3.Listener";
    const before = [own.set(listeners), other.set(listeners)];
    mesh.apply(policy("web", { selector: { matchLabels: { app: "web" } }, rules: [path(["/a"])] }));
    expect(other.set(listeners)).toBe(before[1]);
    expect(own.set(listeners)).not.toBe(before[0]);
    expect(
      [...own.set(listeners)].filter((found) => before[0]?.get(found.name) !== found).map(({ name }) => name),
    ).toEqual(["virtualInbound"]);
  });
});

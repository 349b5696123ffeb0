import { RBACSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { certificateFor } from "@istiod/e2e";
import type { KubernetesObject } from "../../mesh/objects.js";
import type { Dimension, ScaleMesh } from "../dimension.js";
import type { HeldConfig } from "../held-config.js";
import {
  clientObjects,
  clientPlace,
  gatewayObjects,
  gatewayPlace,
  hostOf,
  istio,
  podAddress,
  service,
  serviceAddress,
  shop,
  slice,
  times,
} from "../objects.js";

const outsideHost = (index: number): string => `h${index}.example.org`;
const selector = { app: "gateway" };
const route = { route: [{ destination: { host: hostOf("web"), port: { number: 80 } } }] };
const objects: readonly KubernetesObject[] = [
  ...gatewayObjects,
  service("web", serviceAddress(0)),
  slice("web", "web", [podAddress(0)]),
];

const secure = (index: number, hosts: readonly string[], credentialName: string): object => ({
  port: { number: 443, name: `https-${index}`, protocol: "HTTPS" },
  hosts,
  tls: { mode: "SIMPLE", credentialName },
});

/** Returns the server names of the filter chains of a gateway's port 443. */
const serverNames = (config: HeldConfig): string[] =>
  config.listeners
    .filter(({ name }) => name === "0.0.0.0_443" || name === "0.0.0.0_8443")
    .flatMap(({ filterChains }) => filterChains)
    .flatMap(({ filterChainMatch }) => filterChainMatch?.serverNames ?? []);

const serverHosts: Dimension = {
  name: "server-hosts",
  counts: "hosts of a server of a Gateway",
  sizes: [1, 10, 100, 1000],
  smallSizes: [1, 30],
  mesh(size) {
    const gateway = (hosts: readonly string[]): KubernetesObject =>
      istio("Gateway", "front", { selector, servers: [secure(0, hosts, "front")] });
    const hosts = times(size, outsideHost);
    const after = [...hosts.slice(1), "hx.example.org"];
    return {
      objects: [
        ...objects,
        gateway(hosts),
        istio("VirtualService", "all", { hosts: ["*"], gateways: ["front"], http: [route] }),
      ],
      proxy: gatewayPlace,
      change: gateway(after),
      read: serverNames,
      expected: hosts,
      expectedAfterChange: after,
    };
  },
};

/** A Gateway of many servers on one port, with one credential or one each. */
function servers(size: number, credential: (index: number) => string): ScaleMesh {
  const gateway = (hosts: readonly string[]): KubernetesObject =>
    istio("Gateway", "front", {
      selector,
      servers: hosts.map((host, index) => secure(index, [host], credential(index))),
    });
  const hosts = times(size, outsideHost);
  const after = [...hosts.slice(1), "hx.example.org"];
  return {
    objects: [
      ...objects,
      gateway(hosts),
      istio("VirtualService", "all", { hosts: ["*"], gateways: ["front"], http: [route] }),
    ],
    proxy: gatewayPlace,
    change: gateway(after),
    read: serverNames,
    expected: hosts,
    expectedAfterChange: after,
  };
}

const filterChains: Dimension = {
  name: "gateway-servers",
  counts: "servers of a Gateway on one port: filter chains",
  sizes: [10, 100, 1000, 3000],
  smallSizes: [10, 100],
  mesh: (size) => servers(size, () => "front"),
};

/** Proxies get the Secrets of a cluster only if their service account may list them. */
const listsSecrets: readonly KubernetesObject[] = [
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "lists-secrets", namespace: shop },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "lists-secrets", namespace: shop },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "lists-secrets" },
    subjects: [{ kind: "ServiceAccount", name: gatewayPlace.serviceAccount, namespace: shop }],
  },
];

const secrets: Dimension = {
  name: "secrets",
  counts: "Secrets that servers of a gateway name",
  sizes: [10, 100, 1000, 3000],
  smallSizes: [10, 50],
  fromCluster: 1000,
  toEnvoy: 0,
  hasSecrets: true,
  async mesh(size) {
    const [{ server: first }, { server: second }] = await Promise.all([
      certificateFor("h0.example.org"),
      certificateFor("h0.example.org"),
    ]);
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    const secret = (index: number, { cert, key }: typeof first): KubernetesObject => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `credential-${index}`, namespace: shop },
      type: "kubernetes.io/tls",
      data: { "tls.crt": base64(cert), "tls.key": base64(key) },
    });
    const mesh = servers(size, (index) => `credential-${index}`);
    const names = times(size, (index) => `kubernetes://credential-${index}`);
    return {
      ...mesh,
      objects: [...mesh.objects, ...times(size, (index) => secret(index, first))],
      permissions: listsSecrets,
      change: secret(0, second),
      secrets: names,
      read: (config) =>
        config.secrets.map(({ name, type }) => {
          const chain = type.case === "tlsCertificate" ? type.value.certificateChain?.specifier : undefined;
          const text = chain?.case === "inlineBytes" ? Buffer.from(chain.value).toString() : String(chain?.value);
          return `${name} ${text === first.cert ? "first" : text === second.cert ? "second" : "other"}`;
        }),
      expected: names.map((name) => `${name} first`),
      expectedAfterChange: names.map((name, index) => `${name} ${index === 0 ? "second" : "first"}`),
    };
  },
};

const gatewayRoutes: Dimension = {
  name: "gateway-routes",
  counts: "VirtualServices of one gateway",
  sizes: [10, 100, 1000, 5000, 10_000],
  smallSizes: [10, 100],
  fromCluster: 5000,
  mesh(size) {
    const rule = (index: number, host: string): KubernetesObject =>
      istio("VirtualService", `vs-${index}`, { hosts: [host], gateways: ["front"], http: [route] });
    const hosts = times(size, outsideHost);
    return {
      objects: [
        ...objects,
        istio("Gateway", "front", {
          selector,
          servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
        }),
        ...hosts.map((host, index) => rule(index, host)),
      ],
      proxy: gatewayPlace,
      change: rule(0, "hx.example.org"),
      read: (config) =>
        config.routes
          .flatMap(({ virtualHosts }) => virtualHosts)
          .flatMap(({ domains }) => domains)
          .filter((domain) => /^h\w+\.example\.org$/.test(domain)),
      expected: hosts,
      expectedAfterChange: [...hosts.slice(1), "hx.example.org"],
    };
  },
};

/** Returns the names of the policies that a sidecar enforces for requests to its workload. */
function policyNames(config: HeldConfig): string[] {
  const inbound = config.listeners.filter(({ name }) => name === "virtualInbound");
  const managers = config.filters(
    HttpConnectionManagerSchema,
    inbound
      .flatMap((listener) => listener.filterChains)
      .flatMap(({ filters }) => filters)
      .map(({ configType }) => (configType.case === "typedConfig" ? configType.value : undefined)),
  );
  const policies = config.filters(
    RBACSchema,
    managers
      .flatMap(({ httpFilters }) => httpFilters)
      .map(({ configType }) => (configType.case === "typedConfig" ? configType.value : undefined)),
  );
  return [...new Set(policies.flatMap(({ rules }) => Object.keys(rules?.policies ?? {})))];
}

const policies: Dimension = {
  name: "authorization-policies",
  counts: "AuthorizationPolicies of a workload",
  sizes: [10, 100, 1000, 5000],
  smallSizes: [10, 100],
  mesh(size) {
    const policy = (index: number, rules: number): KubernetesObject =>
      istio("AuthorizationPolicy", `p-${index}`, {
        rules: times(rules, (rule) => ({ to: [{ operation: { paths: [`/p-${index}/${rule}`] } }] })),
      });
    const name = (index: number, rule: number): string => `ns[${shop}]-policy[p-${index}]-rule[${rule}]`;
    const names = times(size, (index) => name(index, 0));
    return {
      objects: [...clientObjects, ...times(size, (index) => policy(index, 1))],
      proxy: clientPlace,
      change: policy(0, 2),
      read: policyNames,
      expected: names,
      expectedAfterChange: [...names, name(0, 1)],
    };
  },
};

const rules: Dimension = {
  name: "authorization-rules",
  counts: "rules of an AuthorizationPolicy",
  sizes: [10, 100, 1000, 5000],
  smallSizes: [10, 100],
  mesh(size) {
    const policy = (count: number): KubernetesObject =>
      istio("AuthorizationPolicy", "many", {
        rules: times(count, (rule) => ({ to: [{ operation: { paths: [`/${rule}`] } }] })),
      });
    const names = times(size + 1, (rule) => `ns[${shop}]-policy[many]-rule[${rule}]`);
    return {
      objects: [...clientObjects, policy(size)],
      proxy: clientPlace,
      change: policy(size + 1),
      read: policyNames,
      expected: names.slice(0, -1),
      expectedAfterChange: names,
    };
  },
};

export const gatewayDimensions: readonly Dimension[] = [
  serverHosts,
  filterChains,
  secrets,
  gatewayRoutes,
  policies,
  rules,
];

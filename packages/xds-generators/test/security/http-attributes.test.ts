import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { RBAC_Action } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import { RuleSchema } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { httpAttribute } from "@istiod/push-context";
import { expect, it } from "vitest";
import { rulePolicy } from "../../src/security/authorization/rule-policy.js";

const operations = ["hosts", "methods", "paths", "ports", "notHosts", "notMethods", "notPaths", "notPorts"];
const names = ["principals", "requestPrincipals", "namespaces", "ipBlocks", "remoteIpBlocks", "serviceAccounts"];
const sources = [...names, ...names.map((name) => `not${name.replace(/^./, (first) => first.toUpperCase())}`)];
const ip = ["source.ip", "remote.ip", "destination.ip"];
const auth = ["request.auth.principal", "request.auth.audiences", "request.auth.presenter", "request.auth.claims[a]"];
const conditions = [
  ...ip,
  ...auth,
  ...["request.headers[x]", "source.namespace", "source.principal", "destination.port", "connection.sni"],
  "experimental.envoy.filters.network.mysql_proxy[a]",
];
const valueOf = (name: string): string => (/ip/i.test(name) && !/princip/i.test(name) ? "10.0.0.1" : "80");

type Case = readonly [name: string, rule: JsonObject];

it.each([
  ...operations.map((name) => [name, { to: [{ operation: { [name]: [valueOf(name)] } }] }] as Case),
  ...sources.map((name) => [name, { from: [{ source: { [name]: [valueOf(name)] } }] }] as Case),
  ...conditions.map((key) => [key, { when: [{ key, values: [valueOf(key)] }] }] as Case),
])("%s is an HTTP attribute if and only if an ALLOW rule of TCP cannot have it", (name, init) => {
  const rule = fromJson(RuleSchema, init);
  const options = {
    ...{ identity: "filter-state", policyNamespace: "shop", action: RBAC_Action.ALLOW },
    trustDomains: { own: "cluster.local", aliases: [] },
  } as unknown as Parameters<typeof rulePolicy>[1];
  expect(rulePolicy(rule, { ...options, tcp: false })).toBeDefined();
  const isVoid = rulePolicy(rule, { ...options, tcp: true }) === undefined;
  expect(httpAttribute(rule)).toBe(isVoid ? name : undefined);
});

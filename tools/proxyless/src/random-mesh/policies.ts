import type { Random } from "@istiod/bench";
import type { MeshObject } from "./mesh-object.js";

const security = "security.istio.io/v1";

/** Returns random policies of a namespace's servers. */
export function randomPolicies(random: Random, namespace: string, prefix: string): readonly MeshObject[] {
  const objects: MeshObject[] = [];
  const add = (kind: string, name: string, spec: object): void =>
    void objects.push({ apiVersion: security, kind, metadata: { name: `${prefix}-${name}`, namespace }, spec });
  if (random.chance(0.5)) {
    const modes = ["STRICT", "PERMISSIVE", "DISABLE"];
    const selector = { matchLabels: { app: "server" } };
    add("PeerAuthentication", "mtls", {
      mtls: { mode: random.pick(modes) },
      ...(random.chance(0.4) && { selector, portLevelMtls: { 7001: { mode: random.pick(modes) } } }),
    });
  }
  for (let i = random.below(4); i > 0; i--) {
    const action = random.pick(["ALLOW", "DENY", "DENY", "AUDIT"]);
    add("AuthorizationPolicy", `rules-${i}`, {
      action,
      ...(random.chance(0.3) && { selector: { matchLabels: { app: random.pick(["server", "other"]) } } }),
      ...((action !== "ALLOW" || random.chance(0.9)) && {
        rules: Array.from({ length: 1 + random.below(2) }, () => randomRule(random)),
      }),
    });
  }
  if (random.chance(0.1)) add("AuthorizationPolicy", "nothing", {});
  return objects;
}

function randomRule(random: Random): object {
  return {
    ...(random.chance(0.6) && { from: [{ source: randomSource(random) }] }),
    ...(random.chance(0.6) && { to: [{ operation: randomOperation(random) }] }),
    ...(random.chance(0.5) && { when: [randomCondition(random)] }),
  };
}

function randomSource(random: Random): object {
  return random.pick<object>([
    { principals: ["cluster.local/ns/test/sa/client"] },
    { principals: ["*"] },
    { notPrincipals: ["*/sa/eve"] },
    { namespaces: ["test", "oth*"] },
    { notNamespaces: ["bad"] },
    { ipBlocks: ["10.0.0.0/8", "2001:db8::/32"] },
    { remoteIpBlocks: ["127.0.0.1"] },
    { notIpBlocks: ["192.0.2.1"] },
    { requestPrincipals: ["issuer/subject"] },
    { serviceAccounts: ["test/client"] },
  ]);
}

function randomOperation(random: Random): object {
  return random.pick<object>([
    { paths: ["/test.Echo/Say"] },
    { paths: ["/test.*", "*/Say", "*"] },
    { paths: ["/test.Echo/{*}"] },
    { notPaths: ["/admin*"] },
    { methods: ["POST"] },
    { notMethods: ["GET"] },
    { hosts: ["echo.test", "*.example.com"] },
    { notHosts: ["x"] },
    { ports: ["7001"] },
    { notPorts: ["9"] },
  ]);
}

function randomCondition(random: Random): object {
  const [key, ...values] = random.pick([
    ["request.headers[user]", "eve", "ann*", "*"],
    ["source.ip", "10.0.0.0/8"],
    ["remote.ip", "127.0.0.0/8"],
    ["source.namespace", "test"],
    ["source.principal", "cluster.local/ns/test/sa/client"],
    ["destination.ip", "127.0.0.0/8"],
    ["destination.port", "7001"],
    ["connection.sni", "a.example.com"],
    ["request.auth.claims[group]", "g"],
    ["request.auth.principal", "*"],
  ]) as [string, ...string[]];
  return { key, [random.chance(0.7) ? "values" : "notValues"]: values };
}

/** Returns a Sidecar that limits what a namespace's clients find. */
export function randomSidecar(random: Random, namespace: string, prefix: string, hosts: readonly string[]): MeshObject {
  const imported = random.pick<readonly string[]>([["./*"], ["*/*"], hosts.slice(0, 2).map((host) => `./${host}`)]);
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "Sidecar",
    metadata: { name: `${prefix}-scope`, namespace },
    spec: { egress: [{ hosts: imported }] },
  };
}

import type { Check } from "@istiod/authorization";
import { describe, expect, test } from "vitest";
import { authzCommand } from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";
import { folder, serve } from "./serving.js";

const workload = (name: string, ip: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}-1, namespace: shop, labels: {app: ${name}, security.istio.io/tlsMode: istio}}
spec: {serviceAccountName: ${name}, containers: [{name: app}]}
status: {phase: Running, podIP: ${ip}, podIPs: [{ip: ${ip}}]}
---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec:
  clusterIP: 10.96.0.1
  selector: {app: ${name}}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: tcp, port: 90, targetPort: 9090}]
---`;

const mesh = `${workload("web", "10.1.0.1")}${workload("cart", "10.1.0.2")}
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: strict, namespace: shop}
spec: {selector: {matchLabels: {app: cart}}, mtls: {mode: STRICT}, portLevelMtls: {9090: {mode: PERMISSIVE}}}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: no-admin, namespace: shop}
spec: {action: DENY, rules: [{to: [{operation: {paths: ["/admin*"]}}]}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: readers, namespace: shop}
spec:
  selector: {matchLabels: {app: cart}}
  rules:
    - {to: [{operation: {methods: [HEAD]}}]}
    - from: [{source: {principals: [cluster.local/ns/shop/sa/web]}}]
      to: [{operation: {methods: [GET]}}]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: for-web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, rules: [{}]}
`;

async function asked(...args: string[]): Promise<{ readonly out: string; readonly status: number }> {
  const result = { out: "", status: -1 };
  const output = {
    print: (text: string) => void (result.out += text),
    warn: (text: string) => void (result.out += text),
    exit: (status: number) => void (result.status = status),
  };
  const flags = ["--meshConfig", "", "--networksConfig", ""];
  await authzCommand(offlineMeshes({}), output).parseAsync(["check", ...flags, ...args], { from: "user" });
  return result;
}

async function checks(...args: string[]): Promise<readonly Check[]> {
  return JSON.parse((await asked(...args, "-o", "json")).out) as readonly Check[];
}

describe("istiod authz check", () => {
  test("prints the rule that decides, and why the others do not match", async () => {
    const configDir = await folder({ "mesh.yaml": mesh });
    const { out, status } = await asked("--configDir", configDir, "--from", "web-1.shop", "--to", "cart.shop:80");
    expect(status).toBe(0);
    expect(out).toBe(`ALLOWED: an ALLOW rule matches, and no DENY rule does
  decided by: ALLOW AuthorizationPolicy shop/readers rules[1]
from: Pod web-1.shop, spiffe://cluster.local/ns/shop/sa/web
to: cart-1.shop, port 8080 (HTTP), service cart.shop.svc.cluster.local:80
mutual TLS: STRICT, mutual TLS: the caller has a certificate
request: GET / of cart.shop.svc.cluster.local (pathNormalization BASE)
policies that apply, in evaluation order:
  DENY shop/no-admin: does not match
    rules[0] does not match
      no  to[0].operation.paths [/admin*]: /
  ALLOW shop/readers: matches
    rules[0] does not match
      no  to[0].operation.methods [HEAD]: GET
    rules[1] matches
      yes from[0].source.principals [cluster.local/ns/shop/sa/web]: spiffe://cluster.local/ns/shop/sa/web
      yes to[0].operation.methods [GET]: GET
policies that do not apply:
  ALLOW shop/for-web: its selector is app=web
`);
  });

  test("decides by the path that policies see", async () => {
    const configDir = await folder({ "mesh.yaml": mesh });
    const to = ["--configDir", configDir, "--from", "shop/web", "--to", "cart.shop:80"];
    const { out, status } = await asked(...to, "--path", "/x/..;/admin");
    expect([status, out.split("\n").slice(0, 2)]).toEqual([
      1,
      ["DENIED (403): a DENY rule matches", "  decided by: DENY AuthorizationPolicy shop/no-admin rules[0]"],
    ]);
    expect(out).toContain("request: GET /x/..;/admin of cart.shop.svc.cluster.local, seen as /admin");
  });

  test("refuses plaintext where mutual TLS is STRICT, and knows no principal and no method on a TCP port", async () => {
    const configDir = await folder({ "mesh.yaml": mesh });
    const from = ["--configDir", configDir, "--from", "none"];
    const [http] = await checks(...from, "--to", "cart.shop:80");
    expect(http?.decision).toEqual({
      outcome: "deny",
      stage: "mutual TLS",
      reason: "STRICT accepts mutual TLS only",
    });
    const [tcp] = await checks(...from, "--to", "cart-1.shop:9090", "--method", "GET");
    expect(tcp?.mutualTls.mode).toBe("PERMISSIVE");
    expect(tcp?.decision).toMatchObject({ outcome: "deny", by: { name: "no-admin", rule: 0 } });
    expect(tcp?.policies.at(-1)?.rules.map(({ never }) => never)).toEqual([
      "to[0].operation.methods: a TCP connection has no HTTP attributes",
      "to[0].operation.methods: a TCP connection has no HTTP attributes",
    ]);
    expect(tcp?.notes).toEqual(["port 9090 has the protocol TCP: the proxy sees no method, path, headers or token"]);
  });

  test("asks a running istiod, from /debug/authz", async () => {
    const configDir = await folder({ "mesh.yaml": mesh });
    const istiod = await serve({ configDir });
    const request = ["--from", "web-1.shop", "--to", "cart.shop:80", "--path", "/admin", "--header", "x-a: 1"];
    expect(await checks("--istiod", istiod.http, ...request)).toEqual(
      await checks("--configDir", configDir, ...request),
    );
    const wrong = asked("--istiod", istiod.http, "--from", "web-1.shop", "--to", "nobody.shop:80");
    await expect(wrong).rejects.toThrow(/^to: there is no Pod, workload or service/);
  });
});

import type { JsonValue } from "@bufbuild/protobuf";
import { YamlMesh } from "@istiod/config-schema/testing";
import type { Proxy } from "@istiod/push-context";
import { describe, expect, it } from "vitest";
import { check, type Check, formatChecks, type Question } from "../src/index.js";

const document = (kind: string, name: string, spec: object, more: object = {}): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind,
    metadata: { name, namespace: "shop", ...more },
    spec,
  });
const policy = (name: string, spec: object, more: object = {}): string =>
  document("AuthorizationPolicy", name, spec, more);
const peers = (name: string, spec: object): string => document("PeerAuthentication", name, spec);
const dryRun = { annotations: { "istio.io/dry-run": "true" } };

function pod(name: string, ip: string, labels: object): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${name}-1`, namespace: "shop", labels: { app: name, ...labels } },
    spec: { serviceAccountName: name, containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  });
}

const injected = { "security.istio.io/tlsMode": "istio" };
const base = [
  pod("web", "10.1.0.1", injected),
  pod("cart", "10.1.0.2", injected),
  pod("point", "10.1.0.3", {
    "gateway.networking.k8s.io/gateway-name": "point",
    "gateway.networking.k8s.io/gateway-class-name": "istio-waypoint",
  }),
  pod("edge", "10.1.0.4", { "gateway.networking.k8s.io/gateway-name": "edge" }),
  JSON.stringify({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "cart", namespace: "shop" },
    spec: {
      clusterIP: "10.96.0.2",
      selector: { app: "cart" },
      ports: [
        { name: "http", port: 80, targetPort: 8080 },
        { name: "http-admin", port: 81, targetPort: 8081 },
        { name: "tcp", port: 90, targetPort: 9090 },
      ],
    },
  }),
];

async function ask(
  objects: readonly string[],
  question: Partial<Question> = {},
  meshConfig: JsonValue = {},
): Promise<Check> {
  const mesh = new YamlMesh<Proxy>([...base, ...objects].join("\n---\n"), meshConfig);
  const [found] = await check(mesh.db, { from: "shop/web", to: "cart.shop:80", ...question });
  return found!;
}

const lines = (answer: Check): readonly string[] => formatChecks([answer]).split("\n");

describe("mutual TLS", () => {
  const modes = peers("modes", {
    selector: { matchLabels: { app: "cart" } },
    mtls: { mode: "STRICT" },
    portLevelMtls: { 8080: { mode: "DISABLE" }, 8081: { mode: "PERMISSIVE" } },
  });
  const needsWeb = policy("web-only", {
    rules: [
      { from: [{ source: { principals: ["cluster.local/ns/shop/sa/web"] } }] },
      { to: [{ operation: { paths: ["/health"] } }] },
    ],
  });

  it.each([
    ["cart.shop:80", "shop/web", "DISABLE", "plaintext", true],
    ["cart.shop:81", "shop/web", "PERMISSIVE", "mutual TLS", true],
    ["cart.shop:81", "none", "PERMISSIVE", "plaintext", true],
    ["cart.shop:90", "shop/web", "STRICT", "mutual TLS", true],
    ["cart.shop:90", "none", "STRICT", "plaintext", false],
  ])("of %s called by %s has the mode of the port: %s", async (to, from, mode, connection, accepted) => {
    expect((await ask([modes], { to, from })).mutualTls).toMatchObject({ mode, connection, accepted });
  });

  it("DISABLE leaves no principal, so rules that need one never match, and others do", async () => {
    const answer = await ask([modes, needsWeb]);
    expect(answer.decision).toMatchObject({
      outcome: "deny",
      reason: "ALLOW policies apply, and no rule of them matches",
    });
    expect(lines(answer)).toContain(
      "mutual TLS: DISABLE, plaintext: the port has no mutual TLS, so the caller's identity is not known",
    );
    expect(answer.policies[0]?.rules[0]?.conditions[0]).toMatchObject({
      holds: false,
      actual: "no principal, since the connection has no client certificate",
    });
    expect(answer.notes).toEqual([
      "with mutual TLS mode DISABLE no caller has an identity, so these never match: ALLOW shop/web-only rules[0]",
    ]);
    expect((await ask([modes, needsWeb], { path: "/health" })).decision).toMatchObject({
      outcome: "allow",
      by: { name: "web-only", rule: 1 },
    });
  });

  it("DISABLE makes a DENY of everybody but one principal deny that one, too", async () => {
    const others = policy("others", {
      action: "DENY",
      rules: [{ from: [{ source: { notPrincipals: ["cluster.local/ns/shop/sa/web"] } }] }],
    });
    expect((await ask([others])).decision.outcome).toBe("allow");
    expect((await ask([others, modes])).decision).toMatchObject({ outcome: "deny", by: { name: "others", rule: 0 } });
  });
});

describe("targetRefs", () => {
  const target = (kind: string, name: string): object => ({
    action: "DENY",
    targetRefs: [
      {
        group: kind === "Service" ? "" : kind === "ServiceEntry" ? "networking.istio.io" : "gateway.networking.k8s.io",
        kind,
        name,
      },
    ],
    rules: [{}],
  });

  const notServed = "waypoints are not served by this istiod, so the policy has no effect through it";

  it.each([
    ["Service", "cart", `which only a waypoint of the Service enforces; ${notServed}`],
    ["ServiceEntry", "cart", `which only a waypoint of the ServiceEntry enforces; ${notServed}`],
    ["Gateway", "point", `a waypoint; ${notServed}`],
    ["Gateway", "edge", "so it applies to the Pods of that Gateway only"],
    [
      "Gateway",
      "lost",
      "which has no Pods here, so it applies to no proxy; if it is a waypoint, it is not served by this istiod",
    ],
  ])("of %s %s leave a sidecar alone, and say why", async (kind, name, reason) => {
    const answer = await ask([policy("target", target(kind, name))]);
    expect(answer.decision).toEqual({
      outcome: "allow",
      stage: "policies",
      reason: "no DENY or ALLOW policy applies",
    });
    expect(answer.notApplying).toEqual([
      { action: "DENY", namespace: "shop", name: "target", reason: `its targetRefs name ${kind} ${name}, ${reason}` },
    ]);
  });

  it("of the GatewayClass of waypoints have no effect, either", async () => {
    const ofClass = JSON.parse(policy("all", target("GatewayClass", "istio-waypoint"))) as { metadata: object };
    const answer = await ask([JSON.stringify({ ...ofClass, metadata: { name: "all", namespace: "istio-system" } })]);
    expect(answer.decision.outcome).toBe("allow");
    expect(answer.notApplying[0]?.reason).toMatch(/^its targetRefs name GatewayClass istio-waypoint, .* no effect/);
  });
});

describe("a waypoint", () => {
  it("is not a destination that this istiod decides about", async () => {
    await expect(ask([], { to: "point-1.shop:15008" })).rejects.toThrow(
      "to: point-1.shop is a waypoint: waypoints are not served by this istiod, so no policy has an effect there",
    );
  });

  it("in front of a workload is named, since only the sidecar's policies are evaluated", async () => {
    const namespace = JSON.stringify({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop", labels: { "istio.io/use-waypoint": "point" } },
    });
    expect((await ask([namespace])).notes).toEqual([
      "the label istio.io/use-waypoint names point: waypoints are not served by this istiod, so only the sidecar's policies are evaluated",
    ]);
  });
});

describe("CUSTOM providers", () => {
  const custom = (name: string, provider: string): string =>
    policy(name, { action: "CUSTOM", provider: { name: provider }, rules: [{}] });
  const extensionProviders = [
    { name: "grpc", envoyExtAuthzGrpc: { service: "cart.shop.svc.cluster.local", port: 90 } },
    { name: "http", envoyExtAuthzHttp: { service: "cart.shop.svc.cluster.local", port: 80 } },
    { name: "lost", envoyExtAuthzGrpc: { service: "nowhere.shop.svc.cluster.local", port: 90 } },
  ];
  const strict = policy("none", { rules: [{ to: [{ operation: { methods: ["POST"] } }] }] });

  it("decide, and then the other policies", async () => {
    const answer = await ask([custom("outside", "grpc"), strict], {}, { extensionProviders });
    expect(answer.decision).toMatchObject({ outcome: "external", providers: ["grpc"], then: { outcome: "deny" } });
    expect(lines(answer).slice(0, 3)).toEqual([
      "DECIDED ELSEWHERE: a CUSTOM rule matches, so grpc decides",
      "  decided by: CUSTOM AuthorizationPolicy shop/outside rules[0]",
      "  if it allows: DENIED: ALLOW policies apply, and no rule of them matches",
    ]);
  });

  it.each([
    ["absent", "meshConfig.extensionProviders has no external authorizer of this name"],
    ["lost", 'its service "nowhere.shop.svc.cluster.local" is not known in the mesh, or its settings are invalid'],
  ])("that cannot be used deny, and the reason is given: %s", async (name, problem) => {
    const answer = await ask([custom("outside", name)], {}, { extensionProviders });
    expect(answer.decision).toMatchObject({
      outcome: "deny",
      status: 403,
      reason: `a CUSTOM rule matches, and its provider "${name}" cannot be used: ${problem}`,
    });
  });

  it("are one for each workload by default, so two deny", async () => {
    const answer = await ask([custom("a", "grpc"), custom("b", "http")], {}, { extensionProviders });
    expect(answer.decision.reason).toMatch(/: the policies of the workload have 2 providers, and one is allowed$/);
  });

  it("of HTTP have no effect on TCP connections, which is noted", async () => {
    const answer = await ask([custom("outside", "http")], { to: "cart.shop:90" }, { extensionProviders });
    expect(answer.decision.outcome).toBe("allow");
    expect(answer.notes).toEqual([
      'CUSTOM shop/outside has no effect on TCP connections: its provider "http" decides on HTTP requests only',
    ]);
  });
});

describe("dry runs", () => {
  const denyAdmin = policy(
    "admin",
    { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin*"] } }] }] },
    dryRun,
  );
  const allowWeb = policy(
    "web",
    { rules: [{ from: [{ source: { principals: ["cluster.local/ns/shop/sa/web"] } }] }] },
    dryRun,
  );

  it("do not decide, and the decision with them enforced is given", async () => {
    const answer = await ask([denyAdmin], { path: "/admin/x" });
    expect([answer.decision.outcome, answer.withDryRuns]).toEqual([
      "allow",
      {
        outcome: "deny",
        by: { action: "DENY", namespace: "shop", name: "admin", rule: 0 },
        reason: "a DENY rule matches",
      },
    ]);
    expect(lines(answer)).toContain(
      "dry runs: if they were enforced: DENIED: a DENY rule matches, decided by DENY AuthorizationPolicy shop/admin rules[0]",
    );
    expect(lines(answer)).toContain("  DENY shop/admin (dry run): matches");
  });

  it("of ALLOW would deny everybody else", async () => {
    expect((await ask([allowWeb], { from: "shop/other" })).withDryRuns).toMatchObject({ outcome: "deny" });
    expect(lines(await ask([allowWeb]))).toContain("dry runs: enforcing them would not change the decision");
  });

  it("are absent from the answer if there are none, or if mutual TLS decides", async () => {
    expect(await ask([])).not.toHaveProperty("withDryRuns");
    const strict = peers("strict", { mtls: { mode: "STRICT" } });
    expect(await ask([strict, denyAdmin], { from: "none" })).not.toHaveProperty("withDryRuns");
  });
});

describe("policies that are too many bytes at all filter chains of the workload", () => {
  const paths = Array.from({ length: 1000 }, (_, i) => `/${i}`);
  const objects = [
    policy("paths", { action: "DENY", rules: [{ to: [{ operation: { paths } }] }] }),
    document("RequestAuthentication", "tokens", {
      jwtRules: [{ issuer: "a", jwks: '{"keys": [{"kty": "oct", "k": "AAAA"}]}' }],
    }),
  ];
  const answerWithin = async (bytes: string): Promise<Check> => {
    const mesh = new YamlMesh<Proxy>([...base, ...objects].join("\n---\n"));
    mesh.set("ISTIOD_MAX_POLICY_BYTES_OF_WORKLOAD", bytes);
    const [found] = await check(mesh.db, { from: "shop/web", to: "cart.shop:80", path: "/other" });
    return found!;
  };

  it("are a denial, as the proxy enforces it", async () => {
    expect((await answerWithin("1000000")).decision).toMatchObject({ outcome: "allow" });
    const { decision, token, policies, notApplying } = await answerWithin("10000");
    expect(decision).toMatchObject({ outcome: "deny" });
    expect(token).toMatchObject({ state: "invalid", status: 401 });
    expect(policies.map(({ name, action }) => `${action} ${name}`)).toEqual(["DENY paths (over bound)"]);
    expect(notApplying).toEqual([]);
  });
});

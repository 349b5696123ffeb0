import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { mint } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { Database } from "@istiod/incremental";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { secretPermissions } from "@istiod/push-context";
import { FakeClock } from "@istiod/runtime/testing";
import { secretType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { SecretAccessReviews } from "../src/cluster/secret-access-reviews.js";
import { accountToken } from "./account-token.js";
import { decoded, folder, serve } from "./serving.js";

const until = { timeout: 60_000, interval: 20 };
const rbac = { apiGroup: "rbac.authorization.k8s.io" };
const rbacVersion = `${rbac.apiGroup}/v1`;
const name = "kubernetes://front";

const pair = await mint({});
const objects: readonly ObjectInput[] = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "gw", namespace: "edge" } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "gw", namespace: "edge", labels: { app: "gw" } },
    spec: { serviceAccountName: "gw", containers: [{ name: "proxy", image: "proxy" }] },
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "front", namespace: "edge" },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": pair.pem, "tls.key": pair.keyPem },
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "front", namespace: "edge" },
    spec: {
      selector: { app: "gw" },
      servers: [
        {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          hosts: ["front.example"],
          tls: { mode: "SIMPLE", credentialName: "front" },
        },
      ],
    },
  },
];
const role: ObjectInput = {
  apiVersion: rbacVersion,
  kind: "Role",
  metadata: { name: "gw-sds", namespace: "edge" },
  rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "watch", "list"] }],
};
const binding: ObjectInput = {
  apiVersion: rbacVersion,
  kind: "RoleBinding",
  metadata: { name: "gw-sds", namespace: "edge" },
  roleRef: { ...rbac, kind: "Role", name: "gw-sds" },
  subjects: [{ kind: "ServiceAccount", name: "gw", namespace: "edge" }],
};

async function cluster(more: readonly ObjectInput[] = []): Promise<ApiServer> {
  const type = { group: "networking.istio.io", version: "v1", kind: "Gateway", plural: "gateways", namespaced: true };
  const server = await startApiServer({ types: [type], namespaces: ["edge", "istio-system"] });
  onTestFinished(() => server.stop());
  for (const object of [...objects, ...more]) await server.objects.create(object);
  await send(server, "PATCH", "/api/v1/namespaces/edge/pods/gw/status", "application/merge-patch+json", {
    status: { phase: "Running", podIP: "10.1.0.9", podIPs: [{ ip: "10.1.0.9" }] },
  });
  return server;
}

async function send(server: ApiServer, method: string, path: string, type: string, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${server.tokens.admin}`, "content-type": type };
  const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function istiodOf(server: ApiServer) {
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  return serve({ kubeconfig, secureGRPCAddr: "127.0.0.1:0" });
}

async function gatewayOf(
  istiod: Awaited<ReturnType<typeof serve>>,
  server: ApiServer,
  cluster = "Kubernetes",
): Promise<XdsClient> {
  const node = create(NodeSchema, {
    id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
    metadata: { NAMESPACE: "edge", SERVICE_ACCOUNT: "gw", CLUSTER_ID: cluster },
  });
  const port = istiod.addresses["secureGRPCAddr"]?.port ?? 0;
  const headers = { authorization: `Bearer ${await accountToken(server, { namespace: "edge", name: "gw" })}` };
  const proxy = new XdsClient(
    { host: "127.0.0.1", port, tls: { rejectUnauthorized: false } },
    { variant: "delta", node, headers },
  );
  onTestFinished(() => proxy.close());
  return proxy;
}

test("a gateway has its Secrets with its first answer if its service account may list those of its namespace", async () => {
  const server = await cluster([role, binding]);
  const istiod = await istiodOf(server);
  const proxy = await gatewayOf(istiod, server);
  proxy.subscribe(secretType, [name]);
  expect(decoded(SecretSchema, await proxy.accept(secretType)).map((secret) => secret.name)).toEqual([name]);
  expect(istiod.lines.filter(({ msg }) => msg.includes("not served"))).toEqual([]);
}, 120_000);

test("a gateway without that permission has none, and the log says which", async () => {
  const server = await cluster([role]);
  const istiod = await istiodOf(server);
  const proxy = await gatewayOf(istiod, server);
  proxy.subscribe(secretType, [name]);
  await vi.waitFor(
    () =>
      expect(istiod.lines.map(({ msg }) => msg)).toContain(
        "secret not served: the proxy's service account may not list Secrets in its namespace: a Role must allow it the verb list on secrets",
      ),
    until,
  );
}, 120_000);

interface Review {
  readonly username: string;
  readonly cluster: "own" | "remote";
  readonly answer: (allowed: boolean) => void;
  readonly fail: () => void;
}

/** Reviews that a test answers. */
function manual() {
  const asked: Review[] = [];
  const reviews = (cluster: Review["cluster"]) => ({
    subjectAccess: ({ username }: { readonly username: string }) =>
      new Promise<{ allowed: boolean }>((resolve, reject) => {
        const answer = (allowed: boolean): void => resolve({ allowed });
        asked.push({ username, cluster, answer, fail: () => reject(new Error("no API server")) });
      }),
  });
  const of = new Map([
    ["Kubernetes", reviews("own")],
    ["east", reviews("remote")],
  ]);
  const clock = new FakeClock();
  const database = new Database<never>();
  const warnings: unknown[] = [];
  const permissions = new SecretAccessReviews({
    database,
    reviewsOf: (cluster) => of.get(cluster),
    log: { info: () => undefined, warn: (...line: unknown[]) => void warnings.push(line) },
    clock,
  });
  const reader = { cluster: "Kubernetes", namespace: "edge", serviceAccount: "gw" };
  const decision = (): unknown => database.read(secretPermissions, "Kubernetes/edge/gw");
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { asked, clock, database, permissions, reader, decision, settle, warnings, of };
}

test("a decision is renewed after five minutes if it allows, after one if it denies, and only while it is held", async () => {
  const { asked, clock, permissions, reader, decision, settle } = manual();
  const held = permissions.hold(reader);
  expect(asked.map(({ username }) => username)).toEqual(["system:serviceaccount:edge:gw"]);
  expect(decision()).toBeUndefined();
  asked[0]!.answer(true);
  await held.decided;
  expect(decision()).toBe("allowed");
  clock.advance(299_999);
  expect(asked).toHaveLength(1);
  clock.advance(1);
  asked[1]!.answer(false);
  await settle();
  expect(decision()).toBe("denied");
  clock.advance(60_000);
  asked[2]!.answer(true);
  await settle();
  expect(decision()).toBe("allowed");
  const second = permissions.hold(reader);
  held.release();
  held.release();
  clock.advance(300_000);
  expect(asked).toHaveLength(4);
  asked[3]!.answer(true);
  await settle();
  second.release();
  clock.advance(300_000);
  expect(asked).toHaveLength(4);
  expect(decision()).toBeUndefined();
  expect(clock.pending).toEqual([]);
});

test("while the API server cannot be asked, the last decision stays, and there is none without one", async () => {
  const { asked, clock, permissions, reader, decision, settle, warnings } = manual();
  const held = permissions.hold(reader);
  asked[0]!.fail();
  await held.decided;
  expect(decision()).toBeUndefined();
  clock.advance(1000);
  asked[1]!.answer(true);
  await settle();
  clock.advance(300_000);
  for (const wait of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    asked.at(-1)!.fail();
    await settle();
    expect(decision()).toBe("allowed");
    const before = asked.length;
    clock.advance(wait - 1);
    expect(asked).toHaveLength(before);
    clock.advance(1);
    expect(asked).toHaveLength(before + 1);
  }
  expect(warnings).toHaveLength(2);
});

test("a proxy waits two seconds for a decision at most", async () => {
  const { clock, permissions, reader, decision } = manual();
  const held = permissions.hold(reader);
  clock.advance(2000);
  await held.decided;
  expect(decision()).toBeUndefined();
});

test("a proxy's own cluster decides, and istiod's for no other", async () => {
  const { asked, database, permissions, reader } = manual();
  permissions.hold({ ...reader, cluster: "east" });
  await permissions.hold({ ...reader, cluster: "unknown" }).decided;
  expect(asked.map(({ cluster: of }) => of)).toEqual(["remote"]);
  expect(database.read(secretPermissions, "unknown/edge/gw")).toBe("undecidable");
});

test("a cluster that is removed takes its decisions with it, and decides again when it is back", async () => {
  const { asked, database, permissions, reader, settle, of } = manual();
  const east = { ...reader, cluster: "east" };
  const decision = (): unknown => database.read(secretPermissions, "east/edge/gw");
  const held = permissions.hold(east);
  asked[0]!.answer(true);
  await held.decided;
  const reviews = of.get("east")!;
  of.delete("east");
  permissions.clusterChanged("east", "remove");
  expect(decision()).toBeUndefined();
  await settle();
  expect(decision()).toBe("undecidable");
  of.set("east", reviews);
  permissions.clusterChanged("east", "add");
  permissions.clusterChanged("east", "replace");
  expect(asked).toHaveLength(3);
  asked[2]!.answer(false);
  asked[1]!.answer(true);
  await settle();
  expect(decision()).toBe("denied");
});

test("a proxy that names an unknown cluster has no Secrets, whatever istiod's own cluster permits", async () => {
  const server = await cluster([role, binding]);
  const istiod = await istiodOf(server);
  const proxy = await gatewayOf(istiod, server, "elsewhere");
  proxy.subscribe(secretType, [name]);
  await vi.waitFor(
    () =>
      expect(istiod.lines.map(({ msg }) => msg)).toContain(
        "secret not served: the proxy is in a cluster that is unknown to istiod",
      ),
    until,
  );
}, 120_000);

import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { mint } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { secretType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
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

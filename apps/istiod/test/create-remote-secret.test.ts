import { join } from "node:path";
import {
  type ApiClient,
  createApiClient,
  createObject,
  type KubernetesObject,
  parseKubeconfig,
  readObject,
} from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { createClock } from "@istiod/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { createRemoteSecretCommand } from "@istiod/commands";
import { clusterWithCart, clusterz, remoteSecret, serveCluster, until } from "./remote-mesh.js";
import { folder } from "./serving.js";

/** The part of a server that the command sees. */
interface TestCluster {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

interface ClusterModule {
  startCluster(): Promise<TestCluster>;
  clusterUnavailable(): Promise<string | undefined>;
}

const servers: Readonly<Record<string, () => Promise<TestCluster | string>>> = {
  "in memory": async () => {
    const server = await startApiServer();
    return { kubeconfig: server.kubeconfig.yaml, stop: () => server.stop() };
  },
  real: async () => {
    const name = "@istiod/cluster";
    const cluster = (await import(name)) as ClusterModule;
    return (await cluster.clusterUnavailable()) ?? cluster.startCluster();
  },
};

const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const namespaces = { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };

interface Secret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface PrintedSecret {
  readonly metadata: object;
  readonly stringData: Readonly<Record<string, string>>;
}

/** Returns the Secret in the output, which ends with a separator of documents. */
function secretOf(out: string): PrintedSecret {
  expect(out).toMatch(/\n---\n$/);
  return parse(out.slice(0, -"---\n".length)) as PrintedSecret;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function run(kubeconfig: string, ...args: readonly string[]): Promise<{ out: string; warnings: string }> {
  const output = { out: "", warnings: "" };
  const command = createRemoteSecretCommand(
    {
      env: { KUBECONFIG: join(await folder({ config: kubeconfig }), "config") },
      multiClusterGroup: () => "multicluster.x-k8s.io",
    },
    {
      print: (text) => (output.out += text),
      warn: (text) => (output.warnings += text),
      // A tenth of the intervals: five seconds are long in a test that waits for nothing.
      clock: { ...createClock(), after: (ms, callback) => createClock().after(ms / 10, callback) },
    },
  );
  await command.parseAsync([...args], { from: "user" });
  return output;
}

test("create-remote-secret fails while Kubernetes has not written the credentials", async () => {
  const server = await startApiServer({ secretTokens: false });
  onTestFinished(() => server.stop());
  await expect(run(server.kubeconfig.yaml, "-n", "waiting")).rejects.toThrow(
    'Secret waiting/istio-reader-service-account-istio-remote-secret-token: no "ca.crt" data found',
  );
}, 60_000);

describe.each(Object.entries(servers))("create-remote-secret: %s", (_, start) => {
  let started: TestCluster | string;
  let client: ApiClient;
  const cluster = (): TestCluster => started as TestCluster;

  beforeAll(async () => {
    started = await start();
    if (typeof started === "string") return;
    client = createApiClient(await parseKubeconfig(started.kubeconfig));
  }, 120_000);
  beforeEach((context) => {
    if (typeof started === "string") context.skip(true, started);
  });
  afterAll(async () => {
    if (typeof started === "string") return;
    client.close();
    await started.stop();
  });

  test("prints a Secret by which istiod reads the cluster, with the permissions of the reader only", async () => {
    const { out, warnings } = await vi.waitFor(
      () => run(cluster().kubeconfig, "--name=east", "-n=istio-system"),
      until,
    );
    expect(warnings).toMatch(/^warn: the kubeconfig's server is https?:\/\/127\.0\.0\.1:\d+, which clusters/);
    const config = await clusterWithCart("10.1.0.1");
    await config.objects.create(remoteSecret("istio-remote-secret-east", secretOf(out).stringData));
    const istiod = await serveCluster(config);
    expect((await clusterz(istiod))[1]).toEqual({
      id: "east",
      secretName: "istio-system/istio-remote-secret-east",
      syncStatus: "synced",
    });
  }, 180_000);

  test("prints istioctl's form", async () => {
    const namespace = "forms";
    await createObject(client, namespaces, { metadata: { name: namespace } });
    const account = { group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true };
    await createObject(client, account, { metadata: { name: "reader", namespace } });
    const annotations = { "kubernetes.io/service-account.name": "reader" };
    const type = "kubernetes.io/service-account-token";
    const data = { token: base64("t0ken") };
    const mine = { namespace, name: "mine" };
    await createObject(client, secrets, { metadata: { ...mine, annotations }, type, data } as object);
    const certificates = await vi.waitFor(async () => {
      const secret = await readObject<Secret>(client, secrets, mine);
      expect(secret.data?.["ca.crt"]).toBeDefined();
      return secret.data?.["ca.crt"];
    }, until);
    await createObject(client, secrets, { metadata: { name: "other", namespace } });
    const common = ["-n", namespace, "--service-account", "reader"];
    const { out, warnings } = await run(
      cluster().kubeconfig,
      ...[
        ...common,
        "--secret-name",
        "mine",
        "--server",
        "https://gateway",
        "--tls-server-name",
        "api",
        "--name",
        "c0",
      ],
    );
    expect(warnings).toBe("");
    expect(out).toBe(`# This file is autogenerated, do not edit.
apiVersion: v1
kind: Secret
metadata:
  annotations:
    networking.istio.io/cluster: c0
  labels:
    istio/multiCluster: "true"
  name: istio-remote-secret-c0
  namespace: forms
stringData:
  c0: |
    apiVersion: v1
    clusters:
    - cluster:
        certificate-authority-data: ${certificates}
        server: https://gateway
        tls-server-name: api
      name: c0
    contexts:
    - context:
        cluster: c0
        user: c0
      name: c0
    current-context: c0
    kind: Config
    users:
    - name: c0
      user:
        token: t0ken
---
`);
    const uid = (await readObject(client, namespaces, { name: "kube-system" })).metadata?.uid ?? "";
    const plugin = ["--auth-type=plugin", "--auth-plugin-name=oidc", "--auth-plugin-config=idp-issuer-url=https://i"];
    const config = secretOf((await run(cluster().kubeconfig, ...common, "--type=config", ...plugin)).out);
    expect(config.metadata).toMatchObject({
      name: "istio-kubeconfig",
      annotations: { "networking.istio.io/cluster": uid },
    });
    expect((parse(config.stringData["config"] ?? "") as { users: object[] }).users).toEqual([
      { name: uid, user: { "auth-provider": { name: "oidc", config: { "idp-issuer-url": "https://i" } } } },
    ]);
    const failing = (...args: string[]): Promise<unknown> => run(cluster().kubeconfig, ...common, ...args);
    await expect(failing("--secret-name=other")).rejects.toThrow("forms/other is not a token of ServiceAccount reader");
    await expect(failing("--secret-name=none")).rejects.toThrow("--secret-name: Secret forms/none does not exist");
    await expect(failing("--service-account=x")).rejects.toThrow(
      "ServiceAccount forms/x does not exist: create it, only",
    );
    await expect(failing("--service-account=x", "--create-service-account=false")).rejects.toThrow(
      "ServiceAccount forms/x does not exist: create it, or run with --create-service-account=true",
    );
    await expect(failing("--name=C_0")).rejects.toThrow("--name C_0: is not a DNS label");
    await expect(failing("--auth-plugin-name=oidc")).rejects.toThrow("has no effect without --auth-type=plugin");
    await expect(failing("--auth-type=plugin")).rejects.toThrow("--auth-plugin-name: is required");
  }, 60_000);
});

import { join } from "node:path";
import {
  type ApiClient,
  createApiClient,
  createObject,
  parseKubeconfig,
  patchObject,
  readObject,
  Reflector,
  requestToken,
} from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { createClock } from "@istiod/settings";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { createRemoteSecretCommand } from "../src/commands/create-remote-secret.js";
import { clusterWithCart, clusterz, remoteSecret, serveCluster, until } from "./remote-mesh.js";
import { folder } from "./serving.js";

/** The part of a server that the command sees. */
interface TestCluster {
  readonly kubeconfig: string;
  /** The server writes the credentials of service accounts to their Secrets itself. */
  readonly writesCredentials?: boolean;
  readonly certificateAuthority: string;
  stop(): Promise<void>;
}

interface ClusterModule {
  startCluster(): Promise<TestCluster>;
  clusterUnavailable(): Promise<string | undefined>;
}

const servers: Readonly<Record<string, () => Promise<TestCluster | string>>> = {
  "in memory": async () => {
    const server = await startApiServer();
    return { kubeconfig: server.kubeconfig.yaml, certificateAuthority: "none", stop: () => server.stop() };
  },
  real: async () => {
    const name = "@istiod/cluster";
    const cluster = (await import(name)) as ClusterModule;
    return (await cluster.clusterUnavailable()) ?? { ...(await cluster.startCluster()), writesCredentials: true };
  },
};

const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const namespaces = { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };

/** Writes the credentials of service accounts to their Secrets, as the token controller of Kubernetes does. */
function writeCredentials(client: ApiClient, { certificateAuthority, writesCredentials }: TestCluster): void {
  if (writesCredentials === true) return;
  const annotation = "kubernetes.io/service-account.name";
  const reflector = new Reflector<{ metadata: { annotations: Record<string, string> } }>({
    client,
    resource: secrets,
    fieldSelector: "type=kubernetes.io/service-account-token",
    fields: { fields: { metadata: { annotations: true } } },
    handler: {
      state: () => undefined,
      events: (events) => {
        for (const event of events) if (event.type === "set") void write(event);
      },
    },
  });
  const written = new Set<string>();
  const write = async (event: {
    readonly namespace: string;
    readonly name: string;
    readonly object: { readonly metadata: { readonly annotations: Record<string, string> } };
  }): Promise<void> => {
    const { namespace, name, object } = event;
    if (written.has(`${namespace}/${name}`)) return;
    written.add(`${namespace}/${name}`);
    const account = { namespace, name: object.metadata.annotations[annotation] ?? "" };
    const { token } = await requestToken(client, account, { expirationSeconds: 3600 });
    const data = { token: base64(token), "ca.crt": base64(certificateAuthority) };
    await patchObject(client, secrets, { namespace, name }, { merge: { data } });
  };
  reflector.start();
  onTestFinished(() => reflector.stop());
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
    { KUBECONFIG: join(await folder({ config: kubeconfig }), "config") },
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

  test("fails while Kubernetes has not written the credentials", async (context) => {
    context.skip(cluster().writesCredentials === true, "the server writes the credentials at once");
    await expect(run(cluster().kubeconfig, "-n", "waiting")).rejects.toThrow(
      'Secret waiting/istio-reader-service-account-istio-remote-secret-token: no "ca.crt" data found',
    );
  }, 60_000);

  test("prints a Secret by which istiod reads the cluster, with the permissions of the reader only", async () => {
    writeCredentials(client, cluster());
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
    const data = { token: base64("t0ken"), "ca.crt": base64("caData") };
    await createObject(client, secrets, { metadata: { name: "mine", namespace, annotations }, type, data } as object);
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
        certificate-authority-data: Y2FEYXRh
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
    await expect(failing("--secret-name=other")).rejects.toThrow("forms/other is no token of ServiceAccount reader");
    await expect(failing("--secret-name=none")).rejects.toThrow("--secret-name: Secret forms/none does not exist");
    await expect(failing("--service-account=x")).rejects.toThrow(
      "ServiceAccount forms/x does not exist: create it, only",
    );
    await expect(failing("--service-account=x", "--create-service-account=false")).rejects.toThrow(
      "ServiceAccount forms/x does not exist: create it, or run with --create-service-account=true",
    );
    await expect(failing("--name=C_0")).rejects.toThrow("--name C_0: is no DNS label");
    await expect(failing("--auth-plugin-name=oidc")).rejects.toThrow("has no effect without --auth-type=plugin");
    await expect(failing("--auth-type=plugin")).rejects.toThrow("--auth-plugin-name: is required");
  }, 60_000);
});

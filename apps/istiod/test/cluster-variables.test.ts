import { readFile, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { serveCluster, until } from "./remote-mesh.js";
import { folder, serve } from "./serving.js";

async function apiServer() {
  const server = await startApiServer({ namespaces: ["shop", "istio-system"], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  return server;
}

const roots = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "istio-ca-root-cert" } as const;

test("KUBECONFIG names the cluster, if --kubeconfig does not and its file has content", async () => {
  const server = await apiServer();
  const directory = await folder({ config: server.kubeconfig.yaml, empty: "" });
  const KUBECONFIG = join(directory, "config");
  const istiod = await serve({}, { KUBECONFIG });
  expect(istiod.lines.map(({ msg }) => msg)).toContain("reading the cluster");
  expect(server.requests.some(({ path }) => path.includes("/services"))).toBe(true);

  const nothing = /^there is nothing to read: give --configDir for a directory or --kubeconfig for a cluster/;
  for (const file of ["missing", "empty", "config/below-a-file"])
    await expect(serve({}, { KUBECONFIG: join(directory, file) })).rejects.toThrow(nothing);
  await expect(serve({}, { KUBECONFIG: `${KUBECONFIG}${delimiter}${KUBECONFIG}` })).rejects.toThrow(
    /^KUBECONFIG=.*: several files are not supported, expected one$/,
  );
});

test("with --configDir, the KUBECONFIG of a shell is not used", async () => {
  const server = await apiServer();
  const directory = await folder({ config: server.kubeconfig.yaml, "mesh/empty.yaml": "" });
  const KUBECONFIG = join(directory, "config");
  await serve({ configDir: join(directory, "mesh") }, { KUBECONFIG });
  expect(server.requests).toEqual([]);
  // In a Pod it is meant for istiod, as in an external control plane.
  const env = { KUBECONFIG, KUBERNETES_SERVICE_HOST: "192.0.2.1" };
  const inPod = await serve({ configDir: join(directory, "mesh") }, env);
  expect(inPod.lines.map(({ msg }) => msg)).toContain("reading the cluster");
});

test("USE_REMOTE_CERTS saves the Secret cacerts in ROOT_CA_DIR, unless that has a CA", async () => {
  const own = await folder({});
  const first = await serve({ configDir: own, caDir: join(own, "ca"), secureGRPCAddr: "127.0.0.1:0" });
  await first.close();
  const [certificate, key] = await Promise.all(
    ["ca-cert.pem", "ca-key.pem"].map((name) => readFile(join(own, "ca", name), "utf8")),
  );
  const server = await apiServer();
  const files = {
    "ca-cert.pem": certificate,
    "ca-key.pem": key,
    "root-cert.pem": certificate,
    "cert-chain.pem": certificate,
  };
  const data = Object.entries(files).map(([name, text = ""]) => [name, Buffer.from(text).toString("base64")]);
  await server.objects.create({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "istio-system", name: "cacerts" },
    data: Object.fromEntries(data) as object,
  });
  const directory = join(await folder({}), "cacerts");
  const env = { ROOT_CA_DIR: directory, USE_REMOTE_CERTS: "true" };
  const flags = { secureGRPCAddr: "127.0.0.1:0", namespace: "istio-system" };
  const second = await serveCluster(server, flags, env);
  await vi.waitFor(() => expect(server.objects.get(roots)?.["data"]).toEqual({ "root-cert.pem": certificate }), until);
  expect((await stat(join(directory, "ca-key.pem"))).mode & 0o777).toBe(0o600);
  await second.close();

  await server.objects.delete({ apiVersion: "v1", kind: "Secret", namespace: "istio-system", name: "cacerts" });
  const third = await serveCluster(server, flags, env);
  expect(third.lines.map(({ msg }) => msg)).not.toContain(expect.stringContaining("USE_REMOTE_CERTS"));
  await third.close();
  const other = await serveCluster(server, flags, { ...env, ROOT_CA_DIR: join(directory, "other") });
  expect(other.lines.map(({ msg }) => msg)).toContain("USE_REMOTE_CERTS: Secret istio-system/cacerts does not exist");
}, 120_000);

test("PLATFORM=openshift injects proxies with the user and group of their namespace", async () => {
  const server = await apiServer();
  await server.objects.create({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio-sidecar-injector", namespace: "istio-system" },
    data: {
      config: `
policy: enabled
defaultTemplates: [sidecar]
templates:
  sidecar: |
    spec:
      containers:
      - name: istio-proxy
        image: proxyv2
        securityContext: { runAsUser: {{ .ProxyUID }}, runAsGroup: {{ .ProxyGID }} }
`,
      values: "{}",
    },
  });
  const annotations = {
    "openshift.io/sa.scc.uid-range": "1000680000/10000",
    "openshift.io/sa.scc.supplemental-groups": "1000690000/10000",
  };
  await server.objects.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", annotations } });
  const idsOf = async (env: NodeJS.ProcessEnv): Promise<readonly string[]> => {
    const istiod = await serveCluster(server, { namespace: "istio-system" }, env);
    const object = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "shop" },
      spec: { containers: [{ name: "app", image: "app" }] },
    };
    const review = {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: { uid: "1", namespace: "shop", operation: "CREATE", kind: { version: "v1", kind: "Pod" }, object },
    };
    const answer = await fetch(`${istiod.http}/inject`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(review),
    });
    const { response } = (await answer.json()) as { readonly response: { readonly patch?: string } };
    const patch = Buffer.from(response.patch ?? "", "base64").toString();
    await istiod.close();
    return [...patch.matchAll(/"(runAsUser|runAsGroup)":(\d+)/g)].map(([, name, id]) => `${name} ${id}`).sort();
  };
  expect(await idsOf({ PLATFORM: "openshift" })).toEqual(["runAsGroup 1000699999", "runAsUser 1000689999"]);
  expect(await idsOf({})).toEqual(["runAsGroup 1337", "runAsUser 1337"]);
}, 120_000);

import { clusterUnavailable, customResourceDefinitions, startCluster } from "@istiod/cluster";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { expect, onTestFinished, test } from "vitest";

const unavailable = await clusterUnavailable();

async function start() {
  const cluster = await startCluster({ faults: true });
  onTestFinished(() => cluster.stop());
  const client = createApiClient(await parseKubeconfig(cluster.kubeconfig));
  onTestFinished(() => client.close());
  return { cluster, client };
}

test("an empty server is ready, and ends when it is stopped", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { cluster, client } = await start();
  expect(await client.json({ path: "/version" })).toMatchObject({ major: "1" });
  await cluster.stop();
  await cluster.ended;
  await expect(client.json({ path: "/version" })).rejects.toMatchObject({ code: "network" });
  expect(() => process.kill(cluster.pid, 0)).toThrow("ESRCH");
}, 60_000);

test("faults are injected", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { cluster, client } = await start();
  await cluster.faults.failRequests({ status: 429, times: 1, pathPrefix: "/api/v1/namespaces" });
  await expect(client.json({ path: "/api/v1/namespaces" })).rejects.toMatchObject({ code: "too-many-requests" });
  await expect(client.json({ path: "/api/v1/namespaces" })).resolves.toMatchObject({ kind: "NamespaceList" });
}, 60_000);

test("custom resources are served once they are defined", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { client } = await start();
  // The second one is in a group of Kubernetes, which needs an annotation.
  for (const definition of customResourceDefinitions([
    { group: "shop.example", versions: ["v1"], kind: "Cart", plural: "carts", namespaced: true },
    { group: "gateway.networking.k8s.io", versions: ["v1"], kind: "Gateway", plural: "gateways", namespaced: true },
  ]))
    await client.json({
      method: "POST",
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      body: JSON.stringify(definition),
    });
  await expect
    .poll(() => client.json({ path: "/apis/shop.example/v1/carts" }).catch((error: unknown) => error), {
      timeout: 20_000,
    })
    .toMatchObject({ kind: "CartList" });
  // Clients without aggregated discovery, such as kubectl 1.20, read the list of groups.
  const groups = async (): Promise<readonly string[]> =>
    (await client.json<{ readonly groups: readonly { readonly name: string }[] }>({ path: "/apis" })).groups.map(
      ({ name }) => name,
    );
  await expect
    .poll(groups, { timeout: 20_000 })
    .toEqual(expect.arrayContaining(["apiextensions.k8s.io", "shop.example"]));
}, 60_000);

test("a deleted namespace ends with its objects", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { client } = await start();
  const write = (path: string, body: object): Promise<unknown> =>
    client.json({ method: "POST", path, body: JSON.stringify(body) });
  await write("/api/v1/namespaces", { metadata: { name: "shop" } });
  await write("/api/v1/namespaces/shop/configmaps", { metadata: { name: "prices" } });
  await client.json({ method: "DELETE", path: "/api/v1/namespaces/shop" });
  for (const path of ["/api/v1/namespaces/shop", "/api/v1/namespaces/shop/configmaps/prices"])
    await expect
      .poll(() => client.json({ path }).catch((error: unknown) => error), { timeout: 60_000 })
      .toMatchObject({ code: "not-found" });
}, 120_000);

test("a Secret of a service account gets its token, which is valid until the Secret is deleted", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { cluster, client } = await start();
  const path = "/api/v1/namespaces/default/secrets";
  const metadata = { name: "reader", annotations: { "kubernetes.io/service-account.name": "default" } };
  const body = JSON.stringify({ metadata, type: "kubernetes.io/service-account-token" });
  await client.json({ method: "POST", path, body });
  const read = (): Promise<{ readonly data?: Readonly<Record<string, string>> }> =>
    client.json({ path: `${path}/reader` });
  await expect.poll(async () => (await read()).data?.["token"], { timeout: 20_000 }).toBeDefined();
  const { data = {} } = await read();
  const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString("utf8");
  expect([text("namespace"), text("ca.crt")]).toEqual(["default", cluster.certificateAuthority]);
  const review = async (): Promise<unknown> => {
    const request = JSON.stringify({ spec: { token: text("token") } });
    const answer = await client.json<{ readonly status: unknown }>({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      body: request,
    });
    return answer.status;
  };
  expect(await review()).toMatchObject({
    authenticated: true,
    user: { username: "system:serviceaccount:default:default" },
  });
  await client.json({ method: "DELETE", path: `${path}/reader` });
  await expect.poll(review, { timeout: 20_000 }).not.toMatchObject({ authenticated: true });
}, 60_000);

import { createApiClient, parseKubeconfig, requestToken } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { bearer, certificate, logOf as reasons, notImpersonated, unauthenticated } from "./callers.js";
import { accessTo, remoteSecret, serveCluster, until } from "./remote-mesh.js";

const WEB = "URI:spiffe://cluster.local/ns/shop/sa/web";

describe("CA_TRUSTED_NODE_ACCOUNTS", () => {
  const env = { CA_TRUSTED_NODE_ACCOUNTS: "kube-system/ztunnel, istio-system/agent" };

  interface PodNames {
    readonly namespace?: string;
    readonly name: string;
    readonly account: string;
    readonly node: string;
  }

  async function createPod(server: ApiServer, { namespace = "shop", name, account, node }: PodNames): Promise<void> {
    await server.objects.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: account } });
    await server.objects.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace },
      spec: { serviceAccountName: account, nodeName: node, containers: [{ name: "app", image: "app" }] },
      status: { phase: "Running" },
    });
  }

  /** A token of a service account, bound to a Pod. */
  async function boundToken(server: ApiServer, namespace: string, account: string, pod: string): Promise<string> {
    const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
    try {
      const boundTo = { apiVersion: "v1", kind: "Pod", name: pod };
      return (await requestToken(client, { namespace, name: account }, { audiences: ["istio-ca"], boundTo })).token;
    } finally {
      client.close();
    }
  }

  async function cluster(node: string): Promise<ApiServer> {
    const namespaces = ["shop", "istio-system"];
    const server = await startApiServer({ namespaces, bookmarkIntervalMs: 200 });
    onTestFinished(() => server.stop());
    await createPod(server, { namespace: "kube-system", name: "ztunnel-1", account: "ztunnel", node });
    await createPod(server, { name: "web-1", account: "web", node });
    return server;
  }

  const web = "spiffe://cluster.local/ns/shop/sa/web";
  const flags = { secureGRPCAddr: "127.0.0.1:0" };

  test("lets agents have certificates of the Pods on their node, of their own cluster", async () => {
    const server = await cluster("node-1");
    await createPod(server, { name: "cart-1", account: "cart", node: "node-2" });
    const remote = await cluster("node-1");
    await createPod(remote, { name: "vault-1", account: "vault", node: "node-1" });
    await server.objects.create(remoteSecret("east", { east: accessTo(remote) }));
    const running = await serveCluster(server, flags, env);
    const ztunnel = bearer(await boundToken(server, "kube-system", "ztunnel", "ztunnel-1"));
    const there = bearer(await boundToken(remote, "kube-system", "ztunnel", "ztunnel-1"));
    const of = (account: string): string => `spiffe://cluster.local/ns/shop/sa/${account}`;
    expect({
      "its own": await certificate(running, ztunnel),
      "a Pod of its node": await certificate(running, ztunnel, web),
      "a Pod of another node": await certificate(running, ztunnel, of("cart")),
      "a Pod of another cluster": await certificate(running, ztunnel, of("vault")),
      "an account without a Pod": await certificate(running, ztunnel, of("admin")),
      "another trust domain": await certificate(running, ztunnel, "spiffe://other/ns/shop/sa/web"),
      "a name that is no identity": await certificate(running, ztunnel, "web"),
      "a Pod of the remote agent's node": await certificate(running, { ...there, clusterid: "east" }, of("vault")),
      "a token of the remote cluster": await certificate(running, there, web),
      "a Pod that is not trusted": await certificate(
        running,
        bearer(await boundToken(server, "shop", "web", "web-1")),
        of("web"),
      ),
    }).toEqual({
      "its own": "URI:spiffe://cluster.local/ns/kube-system/sa/ztunnel",
      "a Pod of its node": WEB,
      "a Pod of another node": notImpersonated,
      "a Pod of another cluster": notImpersonated,
      "an account without a Pod": notImpersonated,
      "another trust domain": notImpersonated,
      "a name that is no identity": notImpersonated,
      "a Pod of the remote agent's node": "URI:spiffe://cluster.local/ns/shop/sa/vault",
      "a token of the remote cluster": unauthenticated,
      "a Pod that is not trusted": notImpersonated,
    });
    expect(reasons(running)).toContain("no Pod of service account shop/cart runs on node node-1");
    // The permission ends with the Pod.
    const ended = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop", name: "web-1" } };
    await server.objects.updateStatus({ ...ended, status: { phase: "Succeeded" } });
    await expect.poll(() => certificate(running, ztunnel, web), until).toBe(notImpersonated);
  }, 180_000);

  test("is off by default", async () => {
    const server = await cluster("node-1");
    const running = await serveCluster(server, flags);
    const ztunnel = bearer(await boundToken(server, "kube-system", "ztunnel", "ztunnel-1"));
    expect(await certificate(running, ztunnel, web)).toBe(notImpersonated);
    expect(reasons(running)).toContain("no account is trusted with it (CA_TRUSTED_NODE_ACCOUNTS)");
  }, 120_000);
});

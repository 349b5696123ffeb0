import { namespaceController } from "@istiod/controllers";
import { describe, expect, it } from "vitest";
import { eventually, Changeable, meshSettings, testCluster, type TestCluster } from "./support/cluster.js";

const configMap = (namespace: string) =>
  ({ apiVersion: "v1", kind: "ConfigMap", namespace, name: "istio-ca-root-cert" }) as const;
const dataOf = ({ server }: TestCluster, namespace: string): unknown =>
  (server.objects.get(configMap(namespace)) as { readonly data?: unknown } | undefined)?.data;
const namespace = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});
const mesh = meshSettings();
const root = { "root-cert.pem": "root 1" };

describe("the ConfigMap istio-ca-root-cert", () => {
  it("is created in every namespace but those of Kubernetes that have no workloads", async () => {
    const cluster = await testCluster({ namespaces: ["shop", "kube-public", "kube-node-lease", "local-path-storage"] });
    cluster.run(namespaceController({ roots: new Changeable("root 1"), mesh }));
    await eventually(() => {
      for (const name of ["shop", "default", "kube-system"]) expect(dataOf(cluster, name)).toEqual(root);
    });
    expect(cluster.server.objects.get(configMap("shop"))?.metadata.labels).toEqual({ "istio.io/config": "true" });
    await cluster.server.objects.create(namespace("later"));
    await eventually(() => expect(dataOf(cluster, "later")).toEqual(root));
    for (const name of ["kube-public", "kube-node-lease", "local-path-storage"])
      expect(dataOf(cluster, name)).toBeUndefined();
  });

  it("is restored if it is edited or deleted, and keeps the data of others", async () => {
    const cluster = await testCluster({ namespaces: ["shop"] });
    const { objects } = cluster.server;
    cluster.run(namespaceController({ roots: new Changeable("root 1"), mesh }));
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual(root));
    const metadata = { namespace: "shop", name: "istio-ca-root-cert" };
    const edited = { ...configMap("shop"), metadata, data: { "root-cert.pem": "wrong", other: "kept" } };
    await objects.update({ apiVersion: "v1", kind: "ConfigMap", metadata, data: edited.data });
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual({ ...root, other: "kept" }));
    await objects.delete(configMap("shop"));
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual(root));
    // The same edit once more, which leads to an equal write.
    await objects.update({ apiVersion: "v1", kind: "ConfigMap", metadata, data: edited.data });
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual({ ...root, other: "kept" }));
  });

  it("follows the root certificates, and is not written before these are known", async () => {
    const cluster = await testCluster({ namespaces: ["shop"] });
    const roots = new Changeable("");
    cluster.run(namespaceController({ roots, mesh }));
    await eventually(() => expect(cluster.server.requests.filter(({ isWatch }) => isWatch)).toHaveLength(2));
    await cluster.server.objects.create(namespace("later"));
    roots.set("root 1");
    await eventually(() => expect(dataOf(cluster, "later")).toEqual(root));
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual(root));
    expect(cluster.writes().filter((write) => write.includes("/shop/"))).toHaveLength(1);
    roots.set("root 2");
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual({ "root-cert.pem": "root 2" }));
  });

  it("is written only where the discovery selectors match", async () => {
    const cluster = await testCluster();
    const selected = meshSettings({ discoverySelectors: [{ matchLabels: { mesh: "on" } }] });
    await cluster.server.objects.create(namespace("in", { mesh: "on" }));
    await cluster.server.objects.create(namespace("out"));
    cluster.run(namespaceController({ roots: new Changeable("root 1"), mesh: selected }));
    await eventually(() => expect(dataOf(cluster, "in")).toEqual(root));
    expect(dataOf(cluster, "out")).toBeUndefined();
    await cluster.server.objects.apply(namespace("out", { mesh: "on" }));
    await eventually(() => expect(dataOf(cluster, "out")).toEqual(root));
    selected.set(meshSettings().current());
    await eventually(() => expect(dataOf(cluster, "default")).toEqual(root));
  });

  it("is written to a watched namespace only", async () => {
    const cluster = await testCluster({ namespaces: ["shop", "bank"] });
    cluster.run(namespaceController({ roots: new Changeable("root 1"), mesh, namespace: "bank" }));
    await eventually(() => expect(dataOf(cluster, "bank")).toEqual(root));
    expect(cluster.writes()).toEqual(["POST /api/v1/namespaces/bank/configmaps"]);
  });

  it("is written again after errors of the server", async () => {
    const cluster = await testCluster({ namespaces: ["shop"] });
    await cluster.server.faults.failRequests({ status: 500, times: 2, method: "POST" });
    cluster.run(namespaceController({ roots: new Changeable("root 1"), mesh, namespace: "shop" }));
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual(root));
    expect(cluster.writes()).toHaveLength(3);
  });

  it("costs one write for each of 1,000 namespaces, and none after a restart", async () => {
    const namespaces = Array.from({ length: 1000 }, (_, at) => `namespace-${at}`);
    const cluster = await testCluster({ namespaces });
    const roots = new Changeable("root 1");
    const written = (): number =>
      cluster.server.objects.list({ apiVersion: "v1", kind: "ConfigMap" }).filter(({ data }) => data !== undefined)
        .length;
    const first = cluster.run(namespaceController({ roots, mesh }));
    await eventually(() => expect(written()).toBe(1002));
    expect(cluster.writes()).toHaveLength(1002);
    first.stop();
    cluster.run(namespaceController({ roots, mesh }));
    // A namespace that is created afterwards is written last, so every other one has been considered.
    const opened = (): number => cluster.server.requests.filter(({ isWatch }) => isWatch).length;
    await eventually(() => expect(opened()).toBe(4));
    await cluster.server.objects.create(namespace("last"));
    await eventually(() => expect(dataOf(cluster, "last")).toEqual(root));
    expect(cluster.writes()).toHaveLength(1003);
    roots.set("root 2");
    await eventually(() => expect(cluster.writes().filter((write) => write.startsWith("PUT"))).toHaveLength(1003));
    expect(cluster.writes()).toHaveLength(2006);
  }, 200_000);
});

describe("the ConfigMap istio-ca-crl", () => {
  const lists = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "istio-ca-crl" } as const;

  it("has the revocation lists in every namespace once there are any, follows them, and is cleared", async () => {
    const cluster = await testCluster({ namespaces: ["shop"] });
    const text = new Changeable<string | undefined>("");
    const controller = namespaceController({
      roots: new Changeable("root 1"),
      revocationLists: { text, configMap: "istio-ca-crl" },
      mesh,
    });
    cluster.run(controller);
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual(root));
    expect(cluster.server.objects.get(lists)).toBeUndefined();
    for (const content of ["list 1", "list 2"]) {
      text.set(content);
      await eventually(() =>
        expect(cluster.server.objects.get(lists)).toMatchObject({ data: { "ca-crl.pem": content } }),
      );
    }
    await cluster.server.objects.delete(lists);
    await eventually(() =>
      expect(cluster.server.objects.get(lists)).toMatchObject({ data: { "ca-crl.pem": "list 2" } }),
    );
    expect(cluster.server.objects.get(lists)?.metadata.labels).toEqual({ "istio.io/config": "true" });
    // Lists that have become unknown are not taken away from those who check them.
    text.set(undefined);
    await cluster.server.objects.create(namespace("later"));
    await eventually(() => expect(cluster.server.objects.get({ ...lists, namespace: "later" })).toBeDefined());
    expect(cluster.server.objects.get(lists)).toMatchObject({ data: { "ca-crl.pem": "list 2" } });
    text.set("");
    for (const name of ["shop", "later"])
      await eventually(() =>
        expect(cluster.server.objects.get({ ...lists, namespace: name })).toMatchObject({ data: { "ca-crl.pem": "" } }),
      );
    // A namespace without the ConfigMap needs none without lists.
    await cluster.server.objects.create(namespace("last"));
    await eventually(() => expect(dataOf(cluster, "last")).toEqual(root));
    expect(cluster.server.objects.get({ ...lists, namespace: "last" })).toBeUndefined();
  });

  it("is cleared of the lists of an earlier istiod, and keeps them while those of this one are unknown", async () => {
    const cluster = await testCluster({ namespaces: ["shop"] });
    const data = { "ca-crl.pem": "earlier", other: "kept" };
    await cluster.server.objects.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "shop", name: "istio-ca-crl" },
      data,
    });
    const text = new Changeable<string | undefined>(undefined);
    const roots = new Changeable("root 1");
    cluster.run(namespaceController({ roots, revocationLists: { text, configMap: "istio-ca-crl" }, mesh }));
    await eventually(() => expect(dataOf(cluster, "shop")).toEqual(root));
    expect(cluster.server.objects.get(lists)).toMatchObject({ data });
    text.set("");
    await eventually(() =>
      expect(cluster.server.objects.get(lists)).toMatchObject({ data: { ...data, "ca-crl.pem": "" } }),
    );
  });
});

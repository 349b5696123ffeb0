import { serviceExportController } from "@istiod/controllers";
import { expect, it } from "vitest";
import { eventually, meshSettings, testCluster } from "./support/cluster.js";

const apiVersion = "multicluster.x-k8s.io/v1alpha1";
const exportType = {
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  kind: "ServiceExport",
  plural: "serviceexports",
  namespaced: true,
};
const service = (namespace: string, name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace, name },
  spec: { ports: [{ port: 80 }] },
});

it("every Service that is not cluster-local is exported, with the Service as owner", async () => {
  const cluster = await testCluster({ namespaces: ["shop", "bank"], types: [exportType] });
  const { objects } = cluster.server;
  const exported = () =>
    objects.list({ apiVersion, kind: "ServiceExport" }).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  const cart = await objects.create(service("shop", "cart"));
  await objects.create(service("kube-system", "dns"));
  await objects.create(service("bank", "vault"));
  const hosts = ["*.bank.svc.cluster.local"];
  const mesh = meshSettings({ serviceSettings: [{ settings: { clusterLocal: true }, hosts }] });
  const first = cluster.run(serviceExportController({ mesh }));
  await eventually(() => expect(exported()).toEqual(["shop/cart"]));
  expect(objects.list({ apiVersion, kind: "ServiceExport" })[0]?.metadata["ownerReferences"]).toEqual([
    { apiVersion: "v1", kind: "Service", name: "cart", uid: cart.metadata.uid },
  ]);
  first.stop();
  cluster.run(serviceExportController({ mesh }));
  await objects.create(service("shop", "orders"));
  await eventually(() => expect(exported()).toEqual(["shop/cart", "shop/orders"]));
  expect(cluster.writes()).toHaveLength(2);
});

it("nothing is written while ServiceExports are not served", async () => {
  const cluster = await testCluster({ namespaces: ["shop"] });
  const { objects } = cluster.server;
  await objects.create(service("shop", "cart"));
  cluster.run(serviceExportController({ mesh: meshSettings() }));
  await eventually(() =>
    expect(cluster.server.requests.some(({ path }) => path.includes("serviceexports"))).toBe(true),
  );
  await objects.create({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "serviceexports.multicluster.x-k8s.io" },
    spec: {
      group: "multicluster.x-k8s.io",
      scope: "Namespaced",
      names: {
        kind: "ServiceExport",
        plural: "serviceexports",
        singular: "serviceexport",
        listKind: "ServiceExportList",
      },
      versions: [{ name: "v1alpha1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });
  await eventually(() => expect(objects.list({ apiVersion, kind: "ServiceExport" })).toHaveLength(1));
  expect(cluster.writes()).toHaveLength(1);
}, 30_000);

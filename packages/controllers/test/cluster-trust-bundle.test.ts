import { clusterTrustBundleController } from "@istiod/controllers";
import { expect, it } from "vitest";
import { eventually, Changeable, testCluster } from "./support/cluster.js";

const name = "istio.io:istiod-ca:root-cert";
const apiVersion = "certificates.k8s.io/v1beta1";

it("the ClusterTrustBundle has the root certificates, and is restored", async () => {
  const cluster = await testCluster();
  const { objects } = cluster.server;
  const specOf = (): unknown => objects.get({ apiVersion, kind: "ClusterTrustBundle", name })?.["spec"];
  const roots = new Changeable("root 1");
  cluster.run(clusterTrustBundleController(roots));
  const spec = (trustBundle: string) => ({ signerName: "istio.io/istiod-ca", trustBundle });
  await eventually(() => expect(specOf()).toEqual(spec("root 1")));
  roots.set("root 2");
  await eventually(() => expect(specOf()).toEqual(spec("root 2")));
  await objects.delete({ apiVersion, kind: "ClusterTrustBundle", name });
  await eventually(() => expect(specOf()).toEqual(spec("root 2")));
  expect(cluster.writes().map((write) => write.split(" ")[0])).toEqual(["POST", "PUT", "POST"]);
});

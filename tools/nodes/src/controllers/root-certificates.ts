import { applyObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import type { ConfigMap } from "../kube/objects.js";
import { types } from "../kube/types.js";
import { WorkQueue } from "../kube/work-queue.js";

const NAME = "kube-root-ca.crt";

/** Keeps the API server's certificate authority in every namespace, for the volumes of service accounts. */
export function startRootCertificates(cluster: ClusterState, certificate: string): () => void {
  const { client, namespaces, configMaps } = cluster;
  const queue = new WorkQueue(async (namespace) => {
    const found = namespaces.get(namespace);
    if (!found || found.metadata.deletionTimestamp !== undefined) return;
    if (configMaps.get(`${namespace}/${NAME}`)?.data?.["ca.crt"] === certificate) return;
    const wanted = { metadata: { namespace, name: NAME }, data: { "ca.crt": certificate } };
    const options = { fieldManager: "istiod-nodes", force: true };
    configMaps.put(await applyObject(client, types.configMaps, wanted as unknown as ConfigMap, options));
  }, cluster.report);
  namespaces.listen((namespace) => namespace && queue.add(namespace.metadata.name));
  configMaps.listen((object, previous) => {
    const { name, namespace } = (object ?? previous)?.metadata ?? {};
    if (name === NAME && namespace !== undefined) queue.add(namespace);
  });
  return () => queue.stop();
}

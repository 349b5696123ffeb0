import { startCluster } from "@istiod/cluster";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { Relay } from "../relay.js";
import { ClusterObjects } from "./cluster-objects.js";
import { base64, istiodUser, kubeconfigOf, type KubeconfigUser, withPort } from "./kubeconfig.js";
import type { TestCluster } from "./test-cluster.js";

/** Starts the API server of `@istiod/cluster`. @throws Error if there is none: see `clusterUnavailable` */
export async function startRealCluster(): Promise<TestCluster> {
  const server = await startCluster({ faults: true });
  const issueUser = async (): Promise<KubeconfigUser> => {
    const { certificate, key } = await server.issueClientCertificate(istiodUser);
    return { "client-certificate-data": base64(certificate), "client-key-data": base64(key) };
  };
  const { hostname, port } = new URL(server.url);
  const relay = new Relay({ host: hostname, port: Number(port) });
  await relay.open();
  const client = createApiClient(await parseKubeconfig(server.kubeconfig), { qps: 10_000, burst: 10_000 });
  const user = await issueUser();
  const relayUrl = withPort(server.url, relay.port);
  return {
    name: "real",
    kubeconfig: kubeconfigOf(relayUrl, user, server.certificateAuthority),
    issueKubeconfig: async () => kubeconfigOf(relayUrl, await issueUser(), server.certificateAuthority),
    directKubeconfig: kubeconfigOf(server.url, user, server.certificateAuthority),
    relay,
    faults: server.faults,
    objects: new ClusterObjects(client),
    skewClock: (seconds) => server.faults.skewClock(seconds),
    stop: async () => {
      client.close();
      await relay.cut();
      await server.stop();
    },
  };
}

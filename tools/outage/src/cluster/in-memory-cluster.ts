import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { type Clock, createClock } from "@istiod/runtime";
import { Relay } from "../relay.js";
import { ClusterObjects } from "./cluster-objects.js";
import { istiodUser, kubeconfigOf, withPort } from "./kubeconfig.js";
import type { TestCluster } from "./test-cluster.js";

const tokens = Array.from({ length: 1000 }, (_, at) => `token-of-the-user-istiod-${at}`);
const [istiodToken = ""] = tokens;

/** Starts the API server in the memory of this process. */
export async function startInMemoryCluster(): Promise<TestCluster> {
  const base = createClock();
  let skewMs = 0;
  const clock: Clock = { now: () => base.now() + skewMs, after: (delay, callback) => base.after(delay, callback) };
  const server = await startApiServer({
    clock,
    users: Object.fromEntries(tokens.map((token) => [token, { username: istiodUser }])),
    bookmarkIntervalMs: 5_000,
    // The mesh has cluster IPs of its own.
    validation: false,
  });
  const { hostname, port } = new URL(server.url);
  const relay = new Relay({ host: hostname, port: Number(port) });
  await relay.open();
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml), { qps: 10_000, burst: 10_000 });
  const relayUrl = withPort(server.url, relay.port);
  let issued = 0;
  return {
    name: "in memory",
    kubeconfig: kubeconfigOf(relayUrl, { token: istiodToken }),
    issueKubeconfig: async () => kubeconfigOf(relayUrl, { token: tokens[++issued % tokens.length] ?? "" }),
    directKubeconfig: kubeconfigOf(server.url, { token: istiodToken }),
    relay,
    faults: server.faults,
    objects: new ClusterObjects(client),
    skewClock: async (seconds) => void (skewMs = seconds * 1000),
    stop: async () => {
      client.close();
      await relay.cut();
      await server.stop();
    },
  };
}

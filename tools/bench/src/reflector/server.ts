// An API server with the objects of a cluster, in a process of its own that ends with the one that started it.
import { startCluster } from "@istiod/cluster";
import { type ClusterAccess, createApiClient } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { clusterObjects, type ClusterSize, namespaces } from "./objects.js";

export interface ServerOptions extends ClusterSize {
  readonly server: "memory" | "cluster";
}

export interface ServerMessage {
  /** Error that ended the server. */
  readonly error?: string;
  readonly access: ClusterAccess;
}

/** Requests at once that create objects on a real server. */
const concurrency = 50;

async function startInMemory(size: ClusterSize): Promise<ClusterAccess> {
  const server = await startApiServer({ namespaces: namespaces() });
  for (const object of clusterObjects(size)) await server.objects.create(object);
  return accessOf(server.url, server.tokens.admin);
}

async function startReal(size: ClusterSize): Promise<ClusterAccess> {
  const { url, token, certificateAuthority } = await startCluster();
  const access = accessOf(url, token, certificateAuthority);
  const client = createApiClient(access, { qps: 10_000, burst: 10_000 });
  const post = (path: string, object: object): Promise<unknown> =>
    client.json({ method: "POST", path, body: JSON.stringify(object) });
  for (const name of namespaces()) await post("/api/v1/namespaces", { metadata: { name } });
  const objects = clusterObjects(size);
  const create = async (): Promise<void> => {
    for (const object of objects) {
      const { kind, metadata, status } = object;
      const [prefix, plural] = kind === "Pod" ? ["/api/v1", "pods"] : ["/apis/discovery.k8s.io/v1", "endpointslices"];
      const path = `${prefix}/namespaces/${metadata.namespace}/${plural}`;
      await post(path, object);
      if (status === undefined) continue;
      const patch = { contentType: "application/merge-patch+json", body: JSON.stringify({ status }) };
      await client.json({ method: "PATCH", path: `${path}/${metadata.name}/status`, ...patch });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, create));
  client.close();
  return access;
}

function accessOf(server: string, token: string, ca?: string): ClusterAccess {
  const caData = ca === undefined ? {} : { caData: Buffer.from(ca).toString("base64") };
  return { cluster: { name: "bench", server, skipTLSVerify: false, ...caData }, user: { name: "admin", token } };
}

if (process.send !== undefined) {
  process.once("message", (options) => {
    const { server, ...size } = options as ServerOptions;
    const start = server === "cluster" ? startReal : startInMemory;
    start(size).then(
      (access) => process.send?.({ access }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
  process.on("disconnect", () => process.exit());
}

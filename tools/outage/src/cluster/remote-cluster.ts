import type { Mesh } from "@istiod/bench";
import type { MeshObject } from "./cluster-objects.js";
import { base64 } from "./kubeconfig.js";
import type { TestCluster } from "./test-cluster.js";

/** A cluster that istiod reads by a Secret of its own. It has endpoints of a Service of the mesh. */
export interface RemoteCluster {
  readonly cluster: TestCluster;
  /** Writes new credentials to the Secret. */
  rotateCredentials(): Promise<void>;
}

const id = "remote";
const addresses = ["10.200.0.1", "10.200.0.2"];
const secretNamespace = "istio-system";

/** Reports whether the name of a part, such as an endpoint, is one of the remote cluster. */
export function isRemote(part: string): boolean {
  return addresses.some((address) => part.includes(JSON.stringify(address)));
}

/** Fills a remote cluster, and gives an istiod that reads another cluster access to it. */
export async function connectRemote(config: TestCluster, remote: TestCluster, mesh: Mesh): Promise<RemoteCluster> {
  await remote.objects.prepare();
  await remote.objects.write(objectsOf(mesh));
  await config.objects.write([namespace(secretNamespace)]);
  const rotateCredentials = async (): Promise<void> => {
    const data = { [id]: base64(await remote.issueKubeconfig()) };
    const labels = { "istio/multiCluster": "true" };
    const metadata = { name: `istio-remote-secret-${id}`, namespace: secretNamespace, labels };
    await config.objects.write([{ apiVersion: "v1", kind: "Secret", metadata, data } as MeshObject]);
  };
  await rotateCredentials();
  return { cluster: remote, rotateCredentials };
}

function objectsOf(mesh: Mesh): readonly MeshObject[] {
  const service = mesh.serviceAt(0);
  const slice = mesh.endpointSlice(service);
  return [
    namespace(service.namespace),
    mesh.service(service),
    { ...slice, endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })) },
  ] as readonly MeshObject[];
}

function namespace(name: string): MeshObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

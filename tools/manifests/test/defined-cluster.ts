import { type Cluster, clusterUnavailable, startCluster } from "@istiod/cluster";
import { type ApiClient, ApiError, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { customResourceDefinitions } from "../src/definitions/custom-resource-definitions.js";
import type { CustomResourceDefinition } from "../src/definitions/custom-resource-definitions.js";
import { readProtos } from "../src/definitions/read-protos.js";

export { clusterUnavailable };

export interface CustomObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  readonly spec?: unknown;
}

/** An API server with definitions of custom resources. */
export interface DefinedCluster {
  readonly client: ApiClient;
  readonly server: Cluster;
  /** Returns the reason why the server rejects the creation of an object, or `undefined` if it accepts it. */
  rejection(object: CustomObject): Promise<string | undefined>;
  stop(): Promise<void>;
}

const DEFINED_WITHIN_MS = 60_000;
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Starts an API server with the definitions that are generated from the repository's protos. */
export async function startDefinedCluster(definitions?: readonly CustomResourceDefinition[]): Promise<DefinedCluster> {
  const defined = definitions ?? customResourceDefinitions(await readProtos());
  const cluster = await startCluster();
  const client = createApiClient(await parseKubeconfig(cluster.kubeconfig));
  const stop = async (): Promise<void> => {
    client.close();
    await cluster.stop();
  };
  const plurals = new Map<string, string>();
  for (const definition of defined) {
    const { group, names } = definition.spec;
    await client.json({ method: "POST", path: DEFINITIONS, body: JSON.stringify(definition) });
    plurals.set(`${group}/${names.kind}`, names.plural);
  }
  return { client, server: cluster, stop, rejection: (object) => rejection(client, plurals, object) };
}

async function rejection(client: ApiClient, plurals: ReadonlyMap<string, string>, object: CustomObject) {
  const [group = "", version = ""] = object.apiVersion.split("/");
  const plural = plurals.get(`${group}/${object.kind}`);
  if (plural === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not defined`);
  const { namespace = "default" } = object.metadata;
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
  const body = JSON.stringify({ ...object, metadata: { name: "case", namespace } });
  const deadline = Date.now() + DEFINED_WITHIN_MS;
  for (;;) {
    try {
      await client.json({ method: "POST", path, query: { dryRun: "All" }, body });
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 400 || error.status === 422) return error.message;
      // A new definition is served after a moment.
      if (error.code !== "not-found" || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

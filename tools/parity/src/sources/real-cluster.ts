import { customResourceDefinitions, startCluster } from "@istiod/cluster";
import { type ApiClient, createApiClient, parseKubeconfig, type ResourceType } from "@istiod/kubernetes";
import type { JsonObject } from "../scenario.js";
import { ClusterContent } from "./cluster-content.js";
import type { FilledCluster } from "./filled-cluster.js";
import { customTypes } from "./scenario-objects.js";

/** A real API server that is filled with one scenario after another. */
export interface RealCluster {
  /** Replaces the content. Stopping the result leaves the server running. */
  fill(objects: readonly JsonObject[]): Promise<FilledCluster>;
  stop(): Promise<void>;
}

/**
 * Starts a real API server.
 *
 * @param definitions CustomResourceDefinitions. Kinds without one get a definition that accepts everything.
 */
export async function realCluster(definitions: readonly JsonObject[]): Promise<RealCluster> {
  const cluster = await startCluster();
  const client = createApiClient(await parseKubeconfig(cluster.kubeconfig), { qps: 100_000, burst: 100_000 });
  const content = new ClusterContent(client);
  const defined = new Set<string>();
  const define = async (definition: JsonObject): Promise<void> => {
    const { group, names } = definition["spec"] as {
      readonly group: string;
      readonly names: { readonly kind: string };
    };
    defined.add(`${group} ${names.kind}`);
    await content.define(definition);
  };
  for (const definition of definitions) await define(definition);
  return {
    async fill(objects) {
      const missing = new Map<string, ResourceType[]>();
      for (const type of customTypes(objects).filter(({ group, kind }) => !defined.has(`${group} ${kind}`)))
        missing.set(`${type.group} ${type.kind}`, [...(missing.get(`${type.group} ${type.kind}`) ?? []), type]);
      for (const types of missing.values()) await define(permissive(types));
      return filled(client, await content.replace(objects));
    },
    async stop() {
      client.close();
      await cluster.stop();
    },
  };
}

function permissive(types: readonly ResourceType[]): JsonObject {
  const versions = types.map(({ version }) => version);
  const [definition] = types.slice(0, 1).flatMap((type) => customResourceDefinitions([{ ...type, versions }]));
  return definition as JsonObject;
}

function filled(client: ApiClient, content: Pick<FilledCluster, "objects" | "rejected">): FilledCluster {
  return { client, ...content, stop: () => Promise.resolve() };
}

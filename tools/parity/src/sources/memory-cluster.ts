import { createApiClient } from "@istiod/kubernetes";
import { type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { createClock } from "@istiod/runtime";
import type { JsonObject } from "../scenario.js";
import type { FilledCluster, RejectedObject } from "./filled-cluster.js";
import { customTypes, describeObject, impliedNamespaces, kindOf, metadataOf } from "./scenario-objects.js";

/**
 * Starts an API server in memory with the given objects. Its clock gives every object the age that it states; objects
 * that state none are the oldest, as in a directory.
 */
export async function clusterInMemory(objects: readonly JsonObject[]): Promise<FilledCluster> {
  const system = createClock();
  let created: number | undefined = 0;
  const server = await startApiServer({
    types: customTypes(objects),
    // Scenarios have Pods without images, and cluster IPs of several clusters.
    validation: false,
    clock: { now: () => created ?? system.now(), after: (delay, callback) => system.after(delay, callback) },
  });
  const write = async (object: ObjectInput): Promise<void> => {
    const { apiVersion, kind, metadata, status } = object;
    const { resourceVersion: _, ...kept } = metadata as typeof metadata & { readonly resourceVersion?: unknown };
    const { name = "", namespace } = metadata;
    const reference = { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
    const content = { ...object, metadata: kept };
    const isThere = server.objects.get(reference) !== undefined;
    await (isThere ? server.objects.update(content) : server.objects.create(content));
    if (status !== undefined) await server.objects.updateStatus({ ...content, status });
  };
  const accepted: JsonObject[] = [];
  const rejected: RejectedObject[] = [];
  for (const name of impliedNamespaces(objects).filter((name) => name !== "default"))
    await write({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  for (const object of objects.toSorted(
    (a, b) => Number(kindOf(b) === "Namespace") - Number(kindOf(a) === "Namespace"),
  )) {
    created = Date.parse(metadataOf(object).creationTimestamp ?? new Date(0).toISOString());
    try {
      await write(object as unknown as ObjectInput);
      accepted.push(object);
    } catch (error) {
      rejected.push({ object: describeObject(object), reason: (error as Error).message });
    }
  }
  created = undefined;
  const client = createApiClient({
    cluster: { name: "memory", server: server.url, skipTLSVerify: false },
    user: { name: "admin", token: server.tokens.admin },
  });
  const stop = async (): Promise<void> => {
    client.close();
    await server.stop();
  };
  return { client, objects: accepted, rejected, stop };
}

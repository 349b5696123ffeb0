import type { Random } from "@istiod/bench";
import { randomDestinationRule } from "./random-mesh/destination-rule.js";
import { randomPolicies, randomSidecar } from "./random-mesh/policies.js";
import type { MeshObject, RandomMeshOptions, RandomService } from "./random-mesh/mesh-object.js";
import { randomServiceEntry } from "./random-mesh/service-entry.js";
import { randomVirtualService } from "./random-mesh/virtual-service.js";

export type { MeshObject, RandomService };

export interface RandomMesh {
  readonly objects: readonly MeshObject[];
  readonly services: readonly RandomService[];
}

/**
 * Returns services with random ports, endpoints, routes and policies: every field that proxyless gRPC applies, and many
 * that it does not. Equal seeds give equal meshes.
 */
export function randomMesh(random: Random, options: RandomMeshOptions): RandomMesh {
  const { namespace, prefix, services: count = 5, isAlone = false } = options;
  const kube = Array.from({ length: count }, (_, i) => `${prefix}${i}.${namespace}.svc.cluster.local`);
  const hosts = kube.map((host, i) => (random.chance(0.15) ? `${prefix}${i}.${namespace}.example.com` : host));
  const entries = hosts.map((host, i) => randomServiceEntry(random, options, `${prefix}${i}`, host));
  const services = entries.map(({ service }) => service);
  const objects: MeshObject[] = entries.map(({ object }) => object);
  for (const [i, service] of services.entries()) {
    const name = `${prefix}${i}`;
    if (random.chance(0.7)) objects.push(randomDestinationRule(random, { name, namespace, host: service.host }));
    if (random.chance(0.75)) objects.push(randomVirtualService(random, { name, namespace, service, services }));
  }
  if (random.chance(0.2)) {
    const service = { host: `*.${namespace}.example.com`, ports: [80] };
    objects.push(randomVirtualService(random, { name: `${prefix}-any`, namespace, service, services }));
  }
  if (isAlone) objects.push(...randomPolicies(random, namespace, prefix));
  if (isAlone && random.chance(0.3)) objects.push(randomSidecar(random, namespace, prefix, hosts));
  return { objects, services };
}

/** Returns objects as a file of a configuration directory. */
export function manifest(objects: readonly MeshObject[]): string {
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}

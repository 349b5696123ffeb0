import { createHash } from "node:crypto";
import { query } from "@istiod/incremental";
import { clientServices, type ScopedService } from "@istiod/push-context";

/**
 * Consecutive services of a client. Resource sets of many services are unions of chunks, so that a change of one
 * service costs a chunk and a list of chunks. Chunk boundaries depend only on names, so an added service changes one
 * chunk.
 */
export interface ServiceChunk {
  readonly services: readonly ScopedService[];
  /** Equal only for equal services. */
  readonly key: string;
}

/** Returns the key of a chunk, for queries with chunks as arguments. */
export const chunkKey = ({ key }: ServiceChunk): string => key;

/** The services for which the client receives clusters, in order, in chunks. */
export const serviceChunks = query("serviceChunks", (q): readonly ServiceChunk[] =>
  chunkServices(q.call(clientServices)),
);

/** The average number of services in a chunk. */
const averageChunkSize = 32;

/** Splits services into chunks. */
export function chunkServices(services: readonly ScopedService[]): readonly ServiceChunk[] {
  const chunks: ServiceChunk[] = [];
  let start = 0;
  services.forEach(({ service }, at) => {
    if (at + 1 < services.length && !endsChunk(service)) return;
    chunks.push(chunk(services.slice(start, at + 1)));
    start = at + 1;
  });
  return chunks;
}

function chunk(services: readonly ScopedService[]): ServiceChunk {
  const hash = createHash("sha256");
  for (const service of services) hash.update(serviceKey(service));
  return { services, key: hash.digest("base64") };
}

function serviceKey({ service, hostname, ...filters }: ScopedService): string {
  return JSON.stringify([service, hostname, filters]);
}

/** Hashes the name with FNV-1a. */
function endsChunk(name: string): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % averageChunkSize === 0;
}

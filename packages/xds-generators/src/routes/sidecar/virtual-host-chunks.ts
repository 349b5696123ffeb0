import { createHash } from "node:crypto";
import { query } from "@istiod/incremental";
import { type ResourcePart, resourcePart } from "@istiod/resources";
import { concatBytes } from "../../encoding/encode.js";
import { virtualHost, virtualHostKey, type VirtualHostRequest } from "../virtual-host.js";

/**
 * Some virtual hosts that stand together. Configurations of many clients differ in few virtual hosts, so they are made of chunks that
 * most of them share; where chunks end depends on names alone, so that a new host changes one chunk.
 */
export interface VirtualHostChunk {
  readonly hosts: readonly VirtualHostRequest[];
  /** Equal only for equal hosts. */
  readonly key: string;
}

/** The virtual hosts of a chunk, encoded one after another. */
export const encodedChunk = query(
  "virtualHostChunk",
  (q, { hosts }: VirtualHostChunk): ResourcePart =>
    resourcePart(concatBytes(hosts.map((host) => q.call(virtualHost, host)))),
  { key: (newChunk) => newChunk.key },
);

/** On average a chunk has so many hosts. */
const averageChunkSize = 16;

/** Virtual hosts sorted by name, in chunks. */
export function chunkHosts(hosts: readonly VirtualHostRequest[]): readonly VirtualHostChunk[] {
  const chunks: VirtualHostChunk[] = [];
  let open: VirtualHostRequest[] = [];
  for (const host of [...hosts].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))) {
    open.push(host);
    if (endsChunk(host.name)) {
      chunks.push(chunk(open));
      open = [];
    }
  }
  return open.length === 0 ? chunks : [...chunks, chunk(open)];
}

/**
 * The same chunks with some hosts replaced: by name, by what `replace` makes of the host and of what is given for it, which is plain data.
 * Other chunks are shared. Undefined where a host is missing.
 */
export function replaceHosts<T>(
  chunks: readonly VirtualHostChunk[],
  given: ReadonlyMap<string, T>,
  replace: (host: VirtualHostRequest, given: T) => VirtualHostRequest,
): readonly VirtualHostChunk[] | undefined {
  let replaced = 0;
  const out = chunks.map((existing) => {
    const found = existing.hosts.flatMap(({ name }) => given.get(name) ?? []);
    if (found.length === 0) return existing;
    replaced += found.length;
    const hosts = existing.hosts.map((host) => {
      const own = given.get(host.name);
      return own === undefined ? host : replace(host, own);
    });
    return { hosts, key: `${existing.key} ${JSON.stringify(found)}` };
  });
  return replaced === given.size ? out : undefined;
}

function chunk(hosts: readonly VirtualHostRequest[]): VirtualHostChunk {
  return { hosts, key: createHash("sha256").update(hosts.map(virtualHostKey).join()).digest("base64") };
}

/** FNV-1a over the name. */
function endsChunk(name: string): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % averageChunkSize === 0;
}

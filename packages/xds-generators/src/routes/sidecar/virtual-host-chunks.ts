import { createHash } from "node:crypto";
import { query, type QueryContext } from "@istiod/incremental";
import { routeDeclarations } from "@istiod/push-context";
import { type Failure, type ResourcePart, resourcePart } from "@istiod/resources";
import { attempt, serviceObject } from "../../attempt.js";
import { virtualHost, virtualHostKey, type VirtualHostRequest } from "../virtual-host.js";

/**
 * Consecutive virtual hosts. Configurations of many clients differ in a few virtual hosts, so they consist of chunks
 * that most of them share. Chunk boundaries depend only on names, so a new host changes one chunk.
 */
export interface VirtualHostChunk {
  readonly hosts: readonly VirtualHostRequest[];
  /** Equal only for equal hosts. */
  readonly key: string;
}

/** The virtual hosts of a chunk, encoded. */
export const encodedChunk = query(
  "virtualHostChunk",
  (q, { hosts }: VirtualHostChunk): ResourcePart => {
    const failures: Failure[] = [];
    const encoded = hosts.flatMap((host) => attemptHost(q, host, failures) ?? []);
    return resourcePart(encoded, failures);
  },
  { key: (newChunk) => newChunk.key },
);

/**
 * Returns an encoded virtual host, or undefined and adds a failure of a route configuration whose name is not set.
 *
 * @param build encodes it. Default: {@link virtualHost}
 */
export function attemptHost(
  q: QueryContext,
  host: VirtualHostRequest,
  failures: Failure[],
  build: () => Uint8Array = () => q.call(virtualHost, host),
): Uint8Array | undefined {
  return attempt(build, failures, () => ({
    name: "",
    part: { name: host.name },
    objects: [
      ...(host.virtualService === undefined ? [] : q.call(routeDeclarations, host.virtualService)),
      ...(host.service === undefined ? [] : [serviceObject(host.service)]),
    ],
  }));
}

/** The average number of hosts in a chunk. */
const averageChunkSize = 16;

/** Sorts virtual hosts by name and splits them into chunks. */
export function chunkHosts(hosts: readonly VirtualHostRequest[]): readonly VirtualHostChunk[] {
  return splitByName([...hosts].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))).map(chunk);
}

/** Splits virtual hosts, sorted by name, into chunks. */
export function splitByName<T extends { readonly name: string }>(hosts: readonly T[]): readonly (readonly T[])[] {
  const chunks: T[][] = [];
  let open: T[] = [];
  for (const host of hosts) {
    open.push(host);
    if (!endsChunk(host.name)) continue;
    chunks.push(open);
    open = [];
  }
  return open.length === 0 ? chunks : [...chunks, open];
}

/**
 * Replaces hosts by name; other chunks are shared. `given` is plain data, from which `replace` makes the new host.
 * Returns undefined if a host is missing.
 */
export function replaceHosts<T>(
  chunks: readonly VirtualHostChunk[],
  replacements: ReadonlyMap<string, T>,
  replace: (host: VirtualHostRequest, given: T) => VirtualHostRequest,
): readonly VirtualHostChunk[] | undefined {
  let replaced = 0;
  const out = chunks.map((existing) => {
    const found = existing.hosts.flatMap(({ name }) => replacements.get(name) ?? []);
    if (found.length === 0) return existing;
    replaced += found.length;
    const hosts = existing.hosts.map((host) => {
      const own = replacements.get(host.name);
      return own === undefined ? host : replace(host, own);
    });
    return { hosts, key: `${existing.key} ${JSON.stringify(found)}` };
  });
  return replaced === replacements.size ? out : undefined;
}

function chunk(hosts: readonly VirtualHostRequest[]): VirtualHostChunk {
  return { hosts, key: createHash("sha256").update(hosts.map(virtualHostKey).join()).digest("base64") };
}

/** Hashes the name with FNV-1a. */
function endsChunk(name: string): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % averageChunkSize === 0;
}

import { hash } from "node:crypto";
import { clusterType, endpointType } from "@istiod/xds-server";
import type { ReceivedResponse } from "@istiod/xds-server/testing";

/** Resources by name, with the digests of their bytes. */
type HeldResources = ReadonlyMap<string, { readonly digest: string }>;

/**
 * Counts the bytes that a proxy receives again: those of responses without the resources that the proxy did not have in
 * this version, and without the endpoints of clusters that it did not have in this version. A cluster that a stream has
 * changed still needs its endpoints on the next one, if the first one ended before they came.
 */
export class ResentBytes {
  readonly #changedClusters = new Set<string>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a response that the proxy has not applied yet. @param held what the proxy has of its type */
  add({ typeUrl, bytes, resources }: ReceivedResponse, held: HeldResources): void {
    this.#bytes += bytes;
    for (const resource of resources) {
      const isChanged = held.get(resource.name)?.digest !== hash("sha1", resource.bytes, "base64");
      if (isChanged && typeUrl === clusterType) this.#changedClusters.add(resource.name);
      const isNeeded = typeUrl === endpointType && this.#changedClusters.has(resource.name);
      if (isChanged || isNeeded) this.#bytes -= resource.entryBytes;
    }
  }
}

import { getHeapStatistics } from "node:v8";
import type { Resource } from "@istiod/resources";

/**
 * Names that a client may have or not, by type URL, with the versions of which it may have one, oldest first. None for
 * a name that it may have in another version, or whose removal it may have rejected.
 */
export type UncertainNames = ReadonlyMap<string, UncertainResources>;
export type UncertainResources = ReadonlyMap<string, readonly Resource[]>;

/** Time for which names are remembered by default: clients reconnect within seconds. */
const defaultKeepMs = 600_000;
/** Names that are remembered of one type of a stream. */
const maxNames = 4096;
/** Bytes of all names and resources by default, and the share of the heap that they have at most. */
const maxBytes = 16 * 1024 * 1024;
const heapShare = 1 / 32;
/** Memory of an entry of a map in addition to its key's characters, and of a resource to its name and bytes, about. */
const entryBytes = 96;
const resourceBytes = 192;

/** A stream that knows which names are uncertain. */
interface UncertainStream {
  /** @param max number of names of a type; types with more are left out */
  uncertainNames(max: number): UncertainNames;
}

interface Remembered {
  readonly until: number;
  readonly names: UncertainNames;
  readonly bytes: number;
}

/**
 * Names of resources that a client may have or not when its stream ends: it does not list resources of rejected
 * responses when it reconnects, even if it uses them. They are sent or removed again on its next stream.
 */
export class DoubtMemory {
  readonly #keepMs: number;
  readonly #maxBytes: number;
  readonly #clients = new Map<string, Remembered>();
  #bytes = 0;

  /**
   * @param keepMs time in milliseconds for which names are remembered. Default: ten minutes
   * @param heapBytes limit of the heap, in bytes. Default: that of this process
   */
  constructor(keepMs = defaultKeepMs, heapBytes = getHeapStatistics().heap_size_limit) {
    this.#keepMs = keepMs;
    this.#maxBytes = Math.min(maxBytes, heapBytes * heapShare);
  }

  /**
   * Remembers the uncertain names of a stream that ends. Those of the oldest clients are dropped if there are too many.
   *
   * @param client key of the client, the same for its next stream
   */
  remember(client: string, stream: UncertainStream, now: number): void {
    const names = stream.uncertainNames(maxNames);
    if (names.size === 0) return;
    this.#delete(client);
    let bytes = entryBytes + client.length;
    for (const resources of names.values())
      for (const [name, versions] of resources)
        bytes += versions.reduce((sum, { bytes: own }) => sum + own.length + resourceBytes, entryBytes + name.length);
    this.#clients.set(client, { until: now + this.#keepMs, names, bytes });
    this.#bytes += bytes;
    for (const [oldest, { until }] of this.#clients) {
      if (this.#bytes <= this.#maxBytes && until > now) break;
      this.#delete(oldest);
    }
  }

  /** Returns and forgets the uncertain names of a client that connects. */
  recall(client: string, now: number): UncertainNames | undefined {
    const remembered = this.#clients.get(client);
    this.#delete(client);
    return remembered !== undefined && remembered.until > now ? remembered.names : undefined;
  }

  #delete(client: string): void {
    this.#bytes -= this.#clients.get(client)?.bytes ?? 0;
    this.#clients.delete(client);
  }
}

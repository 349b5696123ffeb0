import type { Resource } from "@istiod/resources";

/**
 * Names that a client may have or not, by type URL, with the versions of which it may have one, oldest first. None for
 * a name that it may have in another version, or whose removal it may have rejected.
 */
export type UncertainNames = ReadonlyMap<string, UncertainResources>;
export type UncertainResources = ReadonlyMap<string, readonly Resource[]>;

/** Time for which names are remembered by default: clients reconnect within seconds. */
const defaultKeepMs = 600_000;
/** Names that are remembered of one type of a stream, and bytes of all names and resources. */
const maxNames = 4096;
const maxBytes = 16 * 1024 * 1024;

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
  readonly #clients = new Map<string, Remembered>();
  #bytes = 0;

  /** @param keepMs time in milliseconds for which names are remembered. Default: ten minutes */
  constructor(keepMs = defaultKeepMs) {
    this.#keepMs = keepMs;
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
    let bytes = client.length;
    for (const resources of names.values())
      for (const [name, versions] of resources)
        bytes += versions.reduce((sum, { bytes: own }) => sum + own.length, name.length);
    this.#clients.set(client, { until: now + this.#keepMs, names, bytes });
    this.#bytes += bytes;
    for (const [oldest, { until }] of this.#clients) {
      if (this.#bytes <= maxBytes && until > now) break;
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

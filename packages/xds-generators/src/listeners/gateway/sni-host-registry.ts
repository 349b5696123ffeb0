import type { ChainSource } from "../listener-conflicts.js";

/** The SNI hosts that chains of one port use, each with the bind that registered it last. */
export class SniHostRegistry {
  readonly #hosts = new Map<string, { readonly bind: string; readonly source: ChainSource }>();

  /** Registers the hosts for a bind. Returns false, and registers none, if the bind has one of them already. */
  register(hosts: readonly string[], bind: string, source: ChainSource): boolean {
    if (this.owner(hosts, bind) !== undefined) return false;
    for (const host of hosts) this.#hosts.set(host, { bind, source });
    return true;
  }

  /** Returns the source that registered one of the hosts for the bind. */
  owner(hosts: readonly string[], bind: string): ChainSource | undefined {
    return hosts.map((host) => this.#hosts.get(host)).find((entry) => entry?.bind === bind)?.source;
  }
}

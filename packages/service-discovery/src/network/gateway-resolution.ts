import { isIP } from "node:net";
import { type Commit, type Database, query, type View } from "@istiod/incremental";
import { settings } from "../settings/features.js";
import { resolvedHosts } from "./gateway-selection.js";
import { networkGateways } from "./gateways.js";

/** A resolved address. */
export interface ResolvedAddress {
  readonly address: string;
  /** Time to live in seconds. */
  readonly ttl: number;
}

/** Resolves a hostname in one address family. Returns no addresses if it has none, and rejects if DNS fails. */
export type ResolveHostname = (hostname: string, family: 4 | 6) => Promise<readonly ResolvedAddress[]>;

export interface GatewayResolutionOptions<C> {
  readonly database: Database<C>;
  /** Any client; the hostnames of gateways do not depend on it. */
  readonly client: C;
  readonly resolve: ResolveHostname;
  readonly warn: (message: string) => void;
}

/** Bounds of the refresh interval in milliseconds, whatever the TTL. Source: pilot/pkg/model/network.go. */
const minRefreshMs = 30_000;
const maxRefreshMs = 3_600_000;

const gatewayHostnames = query("gatewayHostnames", (q): readonly string[] => {
  if (!settings.resolveHostnameGateways(q)) return [];
  const addresses = q.call(networkGateways).map(({ address }) => address);
  return [...new Set(addresses.filter((address) => isIP(address) === 0))].sort();
});

/**
 * Resolves the hostnames of network gateways and commits their addresses as `resolvedHosts`: when a hostname appears,
 * and again when its TTL expires. While DNS fails, the last addresses stay.
 */
export class GatewayResolution<C> {
  readonly #options: GatewayResolutionOptions<C>;
  readonly #view: View<C>;
  readonly #refreshes = new Map<string, { timer?: NodeJS.Timeout }>();
  #stopObserving = (): void => undefined;
  #settled: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: GatewayResolutionOptions<C>) {
    this.#options = options;
    this.#view = options.database.view(options.client);
  }

  /**
   * Starts to resolve the hostnames of the current gateways, and of those that later commits add. Settles when every
   * current hostname is resolved or has failed. Nothing is committed before.
   */
  async start(): Promise<void> {
    this.#stopObserving = this.#options.database.observe({ after: (commit) => this.#committed(commit) });
    this.#settled = this.#update();
    await this.#settled;
  }

  /** Settles when every hostname of the last commit is resolved or has failed. */
  async idle(): Promise<void> {
    await this.#settled;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopObserving();
    for (const { timer } of this.#refreshes.values()) clearTimeout(timer);
    this.#refreshes.clear();
    this.#view.release();
  }

  #committed({ affected }: Commit): void {
    if (!affected.some(({ view }) => view === (this.#view as View<unknown>))) return;
    this.#settled = Promise.resolve()
      .then(() => this.#update())
      .catch((error: unknown) => this.#options.warn(`failed to resolve network gateways: ${String(error)}`));
  }

  async #update(): Promise<void> {
    if (this.#isStopped) return;
    const hostnames = new Set(this.#view.follow(gatewayHostnames));
    for (const [hostname, { timer }] of this.#refreshes) {
      if (hostnames.has(hostname)) continue;
      clearTimeout(timer);
      this.#refreshes.delete(hostname);
      this.#options.database.commit((tx) => tx.delete(resolvedHosts, hostname));
    }
    const added = [...hostnames].filter((hostname) => !this.#refreshes.has(hostname));
    await Promise.all(added.map((hostname) => this.#refresh(hostname)));
  }

  async #refresh(hostname: string): Promise<void> {
    const { database, resolve, warn } = this.#options;
    const refresh = this.#refreshes.get(hostname) ?? {};
    this.#refreshes.set(hostname, refresh);
    const answers = await Promise.allSettled(([4, 6] as const).map((family) => resolve(hostname, family)));
    if (this.#refreshes.get(hostname) !== refresh) return;
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (answers.every(({ status }) => status === "rejected"))
      warn(`gateway ${hostname}: failed to resolve the hostname, keeping the last addresses`);
    else {
      if (found.length === 0) warn(`gateway ${hostname}: the hostname has no addresses`);
      const addresses = [...new Set(found.map(({ address }) => address))].sort();
      database.commit((tx) => tx.set(resolvedHosts, hostname, addresses));
    }
    const ttlMs = found.length === 0 ? 0 : Math.min(...found.map(({ ttl }) => ttl * 1000));
    const delayMs = Math.max(minRefreshMs, Math.min(maxRefreshMs, ttlMs));
    refresh.timer = setTimeout(() => void this.#refresh(hostname), delayMs).unref();
  }
}

import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { type Commit, type Database, query, type View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { discoverySettings, networkGateways, resolvedHosts } from "@istiod/service-discovery";
import { ownView } from "./own-view.js";

/** An address of a name, and for how many seconds it may be kept. */
interface ResolvedAddress {
  readonly address: string;
  readonly ttl: number;
}

/** Asks DNS for the addresses of a name in one family; none where the name has none. Rejects where DNS fails. */
export type ResolveName = (name: string, family: 4 | 6) => Promise<readonly ResolvedAddress[]>;

export interface GatewayNamesOptions {
  readonly database: Database<Proxy>;
  readonly warn: (message: string) => void;
  /** Default: the system's DNS servers. */
  readonly resolve?: ResolveName;
  /**
   * Milliseconds that a name is kept at least and at most, whatever its TTL. Default 30 s and 1 h, as
   * pilot/pkg/model/network.go.
   */
  readonly keep?: { readonly least: number; readonly most: number };
}

const namesOfGateways = query("namesOfGateways", (q): readonly string[] =>
  discoverySettings.resolveHostnameGateways(q)
    ? [
        ...new Set(
          q
            .call(networkGateways)
            .map(({ address }) => address)
            .filter((address) => isIP(address) === 0),
        ),
      ].sort()
    : [],
);

/**
 * Resolves the names of network gateways, and commits their addresses: when a gateway is first given by name, and again
 * when the TTL is over. Commits nothing before `start`.
 */
export class GatewayNames {
  readonly #options: Required<GatewayNamesOptions>;
  readonly #view: View<Proxy>;
  readonly #names = new Map<string, { timer?: NodeJS.Timeout }>();
  #stopObserving = (): void => undefined;
  /** Settles when every name that is known has been resolved or has failed. */
  #resolved: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: GatewayNamesOptions) {
    this.#options = { resolve: systemResolve(), keep: { least: 30_000, most: 3_600_000 }, ...options };
    this.#view = ownView(options.database);
  }

  /**
   * Resolves the names of the current gateways, and of those that later commits add. Settles when every current name is
   * resolved or has failed.
   */
  async start(): Promise<void> {
    this.#stopObserving = this.#options.database.observe({ after: (commit) => this.#committed(commit) });
    this.#resolved = this.#update();
    await this.#resolved;
  }

  /** Settles when every name of the last commit is resolved or has failed. */
  async idle(): Promise<void> {
    await this.#resolved;
  }

  stop(): void {
    this.#stopped = true;
    this.#stopObserving();
    for (const { timer } of this.#names.values()) clearTimeout(timer);
    this.#names.clear();
    this.#view.release();
  }

  #committed({ affected }: Commit): void {
    if (!affected.some(({ view }) => view === (this.#view as View<unknown>))) return;
    this.#resolved = Promise.resolve()
      .then(() => this.#update())
      .catch((error: unknown) => this.#options.warn(`names of network gateways are not resolved: ${String(error)}`));
  }

  async #update(): Promise<void> {
    if (this.#stopped) return;
    const names = new Set(this.#view.follow(namesOfGateways));
    for (const [name, { timer }] of this.#names) {
      if (names.has(name)) continue;
      clearTimeout(timer);
      this.#names.delete(name);
      this.#commit(name, undefined);
    }
    await Promise.all([...names].filter((name) => !this.#names.has(name)).map((name) => this.#refresh(name)));
  }

  async #refresh(name: string): Promise<void> {
    const record = this.#names.get(name) ?? {};
    this.#names.set(name, record);
    const { least, most } = this.#options.keep;
    const answers = await Promise.allSettled(([4, 6] as const).map((family) => this.#options.resolve(name, family)));
    if (this.#names.get(name) !== record) return;
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const failed = answers.every(({ status }) => status === "rejected");
    if (failed) this.#options.warn(`gateway ${name}: DNS fails; addresses that were found before stay`);
    else {
      if (found.length === 0) this.#options.warn(`gateway ${name}: the name has no address`);
      this.#commit(name, [...new Set(found.map(({ address }) => address))].sort());
    }
    const ttl = found.length === 0 ? least : Math.min(...found.map((each) => each.ttl * 1000));
    record.timer = setTimeout(() => void this.#refresh(name), Math.max(least, Math.min(most, ttl))).unref();
  }

  #commit(name: string, addresses: readonly string[] | undefined): void {
    this.#options.database.commit((tx) =>
      addresses === undefined ? tx.delete(resolvedHosts, name) : tx.set(resolvedHosts, name, addresses),
    );
  }
}

function systemResolve(): ResolveName {
  const resolver = new Resolver({ timeout: 5000, tries: 2 });
  return async (name, family) => {
    try {
      return await (family === 4 ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true }));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENODATA" || code === "ENOTFOUND") return [];
      throw error;
    }
  };
}

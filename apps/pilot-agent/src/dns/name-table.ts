import { isIPv4, isIPv6 } from "node:net";
import type { NameTable } from "@istiod/istio-api/networking/nds/v1/nds";

/** Addresses of a name, by version of IP. */
export interface Addresses {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

/** What is known of a name: its addresses, and the name that it stands for where it was found by a search domain. */
export interface Answer {
  readonly canonical?: string;
  readonly addresses: Addresses;
}

/** Where the proxy is, which decides the short names that it may use. */
export interface NameScope {
  readonly namespace: string;
  /** The proxy's domain, such as `shop.svc.cluster.local`. */
  readonly domain: string;
  /** The resolver's search domains. */
  readonly search: readonly string[];
}

const KUBERNETES = "Kubernetes";

/** The names that istiod tells of, in lower case and without dots at their ends. */
export class NameLookup {
  readonly #names = new Map<string, Addresses>();
  readonly #suffix: string | undefined;

  constructor(table: NameTable, scope: NameScope) {
    const [search] = scope.search;
    this.#suffix = search === undefined ? undefined : `.${search}`;
    for (const [hostname, info] of Object.entries(table.table)) {
      const addresses = { v4: info.ips.filter((ip) => isIPv4(ip)), v6: info.ips.filter((ip) => isIPv6(ip)) };
      if (addresses.v4.length + addresses.v6.length === 0) continue;
      for (const name of info.registry === KUBERNETES ? kubernetesNames(hostname, info, scope) : [hostname])
        this.#names.set(plain(name), addresses);
    }
  }

  /** How many names there are. */
  get size(): number {
    return this.#names.size;
  }

  /**
   * What is known of a name. A resolver tries a name with each of its search domains first; with the first of them the
   * answer is an alias of the name itself, which ends the search. Then wildcards, the most specific first.
   */
  lookup(asked: string): Answer | undefined {
    const name = plain(asked);
    const exact = this.#names.get(name);
    if (exact) return { addresses: exact };
    const searched = this.#withoutSearch(name);
    const alias = searched === undefined ? undefined : this.#names.get(searched);
    if (searched !== undefined && alias) return { canonical: searched, addresses: alias };
    return this.#wildcard(name, searched);
  }

  #wildcard(name: string, searched: string | undefined): Answer | undefined {
    for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) {
      const parent = name.slice(at + 1);
      const direct = this.#names.get(`*.${parent}`);
      if (direct) return { addresses: direct };
      const searchedParent = this.#withoutSearch(parent);
      const alias =
        searched === undefined || searchedParent === undefined ? undefined : this.#names.get(`*.${searchedParent}`);
      if (searched !== undefined && alias) return { canonical: searched, addresses: alias };
    }
    return undefined;
  }

  /** The name before the first search domain; a name that ends so twice is no alias of one that ends so once. */
  #withoutSearch(name: string): string | undefined {
    const suffix = this.#suffix;
    if (suffix === undefined || !name.endsWith(suffix)) return undefined;
    const rest = name.slice(0, -suffix.length);
    return rest === "" || `.${rest}`.endsWith(suffix) ? undefined : rest;
  }
}

/** A Kubernetes service's full name and the shorter ones by which pods of the same cluster call it. */
function kubernetesNames(
  hostname: string,
  info: { readonly shortname: string; readonly namespace: string; readonly altHosts: readonly string[] },
  scope: NameScope,
): string[] {
  if (hostname.endsWith(".")) return [];
  const cluster = scope.domain.startsWith(`${scope.namespace}.`)
    ? scope.domain.slice(scope.namespace.length + 1)
    : scope.domain;
  if (cluster === "" || !hostname.endsWith(cluster)) return [hostname];
  const qualified = `${info.shortname}.${info.namespace}`;
  return [
    hostname,
    qualified,
    ...(info.namespace === scope.namespace ? [info.shortname] : []),
    `${qualified}.${cluster.split(".")[0] ?? ""}`,
    ...info.altHosts,
  ];
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

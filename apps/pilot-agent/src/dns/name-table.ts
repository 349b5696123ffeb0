import { isIPv4, isIPv6 } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { type NameTable, NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { FieldReader } from "@istiod/protobuf-wire";
import { AgentError } from "../errors.js";
import { encodeName } from "./wire-name.js";

/** Addresses of a name by IP family. */
export interface Addresses {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

/** Result of a lookup: the addresses, and the canonical name if the name was found through a search domain. */
export interface Answer {
  readonly canonical?: string;
  readonly addresses: Addresses;
}

/** The proxy's namespace and domains, which determine its short names. */
export interface NameScope {
  readonly namespace: string;
  /** The proxy's domain, such as `shop.svc.cluster.local`. */
  readonly domain: string;
  /** The resolver's search domains. */
  readonly search: readonly string[];
}

const KUBERNETES = "Kubernetes";
/** Names of a table, with their alternatives. Each takes about half a kilobyte of memory. */
export const MAX_NAMES = 250_000;

/**
 * Decodes a name table.
 *
 * @throws AgentError `discovery` if it has more than {@link MAX_NAMES} names
 */
export function decodeNameTable(bytes: Uint8Array): NameTable {
  const reader = new FieldReader(bytes);
  let hosts = 0;
  while (reader.next()) hosts++;
  checkNames(hosts);
  const table = fromBinary(NameTableSchema, bytes, { readUnknownFields: false });
  checkNames(Object.values(table.table).reduce((sum, { altHosts }) => sum + 1 + altHosts.length, 0));
  return table;
}

function checkNames(count: number): void {
  if (count > MAX_NAMES)
    throw new AgentError("discovery", `name table with ${count} names: at most ${MAX_NAMES} are accepted`);
}

/** The names of a name table, in lower case and without trailing dots. */
export class NameLookup {
  readonly #names = new Map<string, Addresses>();
  readonly #suffix: string | undefined;

  constructor(table: NameTable, scope: NameScope) {
    const [search] = scope.search;
    this.#suffix = search === undefined ? undefined : `.${search}`;
    for (const [hostname, info] of Object.entries(table.table)) {
      const addresses = {
        v4: info.ips.filter((ip) => isIPv4(ip)),
        v6: info.ips.filter((ip) => isIPv6(ip) && !ip.includes("%")),
      };
      if (addresses.v4.length + addresses.v6.length === 0) continue;
      for (const name of info.registry === KUBERNETES ? kubernetesNames(hostname, info, scope) : [hostname])
        this.#add(normalize(name), addresses);
    }
  }

  /** The number of names. */
  get size(): number {
    return this.#names.size;
  }

  /**
   * Looks a name up: the exact name, then the name without the first search domain, then wildcards, the most specific
   * first. Resolvers try search domains first; a CNAME to the name itself ends their search.
   */
  lookup(query: string): Answer | undefined {
    const name = normalize(query);
    const exact = this.#names.get(name);
    if (exact) return { addresses: exact };
    const stripped = this.#withoutSearch(name);
    const alias = stripped === undefined ? undefined : this.#names.get(stripped);
    if (stripped !== undefined && alias) return { canonical: stripped, addresses: alias };
    return this.#wildcard(name, stripped);
  }

  /** Adds a name. One that is not well formed cannot be queried or sent, and is ignored. */
  #add(name: string, addresses: Addresses): void {
    if (encodeName(name)) this.#names.set(name, addresses);
  }

  #wildcard(name: string, stripped: string | undefined): Answer | undefined {
    for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) {
      const parent = name.slice(at + 1);
      const direct = this.#names.get(`*.${parent}`);
      if (direct) return { addresses: direct };
      const strippedParent = this.#withoutSearch(parent);
      const alias =
        stripped === undefined || strippedParent === undefined ? undefined : this.#names.get(`*.${strippedParent}`);
      if (stripped !== undefined && alias) return { canonical: stripped, addresses: alias };
    }
    return undefined;
  }

  /** Returns the name without the first search domain; `undefined` if it lacks that suffix, or has it twice. */
  #withoutSearch(name: string): string | undefined {
    const suffix = this.#suffix;
    if (suffix === undefined || !name.endsWith(suffix)) return undefined;
    const rest = name.slice(0, -suffix.length);
    return rest === "" || `.${rest}`.endsWith(suffix) ? undefined : rest;
  }
}

/** Returns a Kubernetes Service's hostname and the short names that pods of the cluster use. */
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

function normalize(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

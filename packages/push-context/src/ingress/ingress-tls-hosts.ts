import { ingresses } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { matchingPatterns } from "../traffic-policy/host-pattern.js";
import { servedIngresses } from "./served-ingresses.js";

/** The hosts that Ingresses serve with TLS. */
interface IngressTlsHosts {
  /** The hosts of each element of `spec.tls`, by the key of the Ingress (`namespace/name`). */
  readonly byIngress: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** The Ingress that serves a host with its certificate; `*` for all other hosts. */
  readonly owners: Readonly<Record<string, string>>;
}

/**
 * The hosts for which each Ingress serves its certificates. A gateway has one certificate for a host, that of the
 * oldest Ingress with the host; the others serve their remaining hosts. An Ingress that names no hosts serves all of
 * them, or if another one does so already, the hosts of its rules.
 */
export const ingressTlsHosts = query("ingressTlsHosts", (q): IngressTlsHosts => {
  const owners: Record<string, string> = {};
  const byIngress: Record<string, readonly (readonly string[])[]> = {};
  for (const key of q.call(servedIngresses)) {
    const { tls = [], rules = [] } = q.read(ingresses, key)?.spec ?? {};
    const claim = (hosts: readonly string[]): readonly string[] => {
      const free = [...new Set(hosts)].filter((host) => owners[host] === undefined);
      for (const host of free) owners[host] = key;
      return free;
    };
    byIngress[key] = tls.map(({ hosts, secretName }) => {
      if (secretName === "") return [];
      if (hosts.length > 0) return claim(hosts);
      const all = claim(["*"]);
      return all.length > 0 ? all : claim(rules.flatMap(({ host }) => (host === "" ? [] : [host])));
    });
  }
  return { byIngress, owners };
});

/** The Ingress (`namespace/name`) whose certificate serves a host; undefined if the host is not served with TLS. */
export const ingressTlsOwner = query("ingressTlsOwner", (q, host: string): string | undefined => {
  const { owners } = q.call(ingressTlsHosts);
  const pattern = matchingPatterns(host).find((candidate) => owners[candidate] !== undefined);
  return pattern === undefined ? undefined : owners[pattern];
});

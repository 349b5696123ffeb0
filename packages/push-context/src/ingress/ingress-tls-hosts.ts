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
 * oldest Ingress that names it in `tls`; the others serve their remaining hosts. An entry that names no hosts serves
 * all of them, or if another one does so already, the hosts of its rules that no entry names.
 */
export const ingressTlsHosts = query("ingressTlsHosts", (q): IngressTlsHosts => {
  const owners: Record<string, string> = {};
  const byIngress: Record<string, (readonly string[])[]> = {};
  const claim = (key: string, hosts: readonly string[]): readonly string[] => {
    const free = [...new Set(hosts)].filter((host) => !Object.hasOwn(owners, host));
    for (const host of free) owners[host] = key;
    return free;
  };
  const served = q.call(servedIngresses).map((key) => ({ key, spec: q.read(ingresses, key)?.spec }));
  for (const { key, spec } of served)
    byIngress[key] = (spec?.tls ?? []).map(({ hosts, secretName }) => (secretName === "" ? [] : claim(key, hosts)));
  for (const { key, spec } of served) {
    for (const [i, { hosts, secretName }] of (spec?.tls ?? []).entries()) {
      const entries = byIngress[key];
      if (entries === undefined || secretName === "" || hosts.length > 0) continue;
      const all = claim(key, ["*"]);
      const ofRules = (spec?.rules ?? []).flatMap(({ host }) => (host === "" ? [] : [host]));
      entries[i] = all.length > 0 ? all : claim(key, ofRules);
    }
  }
  return { byIngress, owners };
});

/** The Ingress (`namespace/name`) whose certificate serves a host; undefined if the host is not served with TLS. */
export const ingressTlsOwner = query("ingressTlsOwner", (q, host: string): string | undefined => {
  const { owners } = q.call(ingressTlsHosts);
  const pattern = matchingPatterns(host).find((candidate) => Object.hasOwn(owners, candidate));
  return pattern === undefined ? undefined : owners[pattern];
});

/** A certificate that is asked for, of which another one takes hosts. */
export interface LostTlsHosts {
  /** Index in `spec.tls`. */
  readonly index: number;
  /** Hosts for which another certificate is served; `*` if the entry names none. */
  readonly hosts: readonly string[];
  /** Hosts for which this one is served. */
  readonly kept: readonly string[];
  /** The Ingress (`namespace/name`) with the other certificate, and its Secret; those of the first host. */
  readonly owner: string;
  readonly secretName: string;
}

/** The hosts for which certificates of an Ingress (`namespace/name`) are not served, as others have those hosts. */
export const lostTlsHosts = query("lostTlsHosts", (q, key: string): readonly LostTlsHosts[] => {
  const { tls = [] } = q.read(ingresses, key)?.spec ?? {};
  if (tls.length === 0) return [];
  const { owners, byIngress } = q.call(ingressTlsHosts);
  const secretOf = (host: string): string => {
    const owner = owners[host] ?? "";
    const index = byIngress[owner]?.findIndex((hosts) => hosts.includes(host)) ?? -1;
    return q.read(ingresses, owner)?.spec.tls[index]?.secretName ?? "";
  };
  return tls.flatMap(({ hosts, secretName }, index) => {
    const kept = byIngress[key]?.[index] ?? [];
    const wanted = hosts.length > 0 ? hosts : ["*"];
    const lost = wanted.filter((host) => secretName !== "" && !kept.includes(host) && secretOf(host) !== secretName);
    const [first] = lost;
    return first === undefined || byIngress[key] === undefined
      ? []
      : [{ index, hosts: [...new Set(lost)], kept, owner: owners[first] ?? "", secretName: secretOf(first) }];
  });
});

import type { QueryContext } from "@istiod/incremental";
import { isWildcard } from "@istiod/push-context";
import { listNames } from "../suggestions.js";
import { certificateHosts } from "./certificates.js";

/** The hosts of a server, and the keys of the Secrets with its certificates. */
export interface ServedHosts {
  /** Names or wildcards, with or without a namespace as in Gateways. */
  readonly hosts: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * Explains which hosts of a server no certificate of it names, so that clients which verify names reject the server;
 * undefined if there is none, or if a certificate cannot be read. Of several certificates, Envoy selects one by SNI.
 */
export function hostsWithoutCertificate(q: QueryContext, { hosts, secrets }: ServedHosts): string | undefined {
  const names: string[] = [];
  for (const key of secrets) {
    const own = certificateHosts(q, { key, use: "server" });
    if (own === undefined) return undefined;
    names.push(...own);
  }
  if (secrets.length === 0) return undefined;
  const served = hosts.map((host) => host.slice(host.indexOf("/") + 1).toLowerCase());
  const lacking = served.filter((host) => !names.some((name) => isFor(name, host)));
  if (lacking.length === 0) return undefined;
  const of = listNames(secrets.map((key) => key.slice(key.indexOf("/") + 1)));
  const is = `the certificate of Secret ${of} is for ${names.length === 0 ? "no host" : listNames([...new Set(names)])}`;
  return `clients that verify the name reject the server for ${listNames([...new Set(lacking)])}: ${is}`;
}

/** Reports whether a name of a certificate is for a host, or for some host that a wildcard stands for. */
function isFor(name: string, host: string): boolean {
  if (host === "*" || name === host) return true;
  if (isWildcard(host)) return name.endsWith(host.slice(1));
  const dot = host.indexOf(".");
  // A wildcard of a certificate stands for one label.
  return isWildcard(name) && dot > 0 && name.slice(1) === host.slice(dot);
}

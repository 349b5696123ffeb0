import type { QueryContext } from "@istiod/incremental";
import { settings } from "../settings/environment.js";

/** The DNS name of a Kubernetes Service. */
export function kubernetesHostname(q: QueryContext, namespace: string, name: string): string {
  return `${name}.${namespace}.svc.${settings.domain(q)}`;
}

/** The name of the Kubernetes Service of this namespace that could have this hostname; undefined if none could. */
export function kubernetesServiceName(q: QueryContext, namespace: string, hostname: string): string | undefined {
  const suffix = `.${namespace}.svc.${settings.domain(q)}`;
  if (!hostname.endsWith(suffix)) return undefined;
  const name = hostname.slice(0, -suffix.length);
  return name === "" || name.includes(".") ? undefined : name;
}

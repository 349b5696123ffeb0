import { query } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import { aliasedHost, declarationsOf, service, servicesByHostname, splitKey } from "@istiod/service-discovery";

/** A service reference in MeshConfig: `hostname` or `namespace/hostname`. */
export interface ProviderService {
  readonly service: string;
  readonly port: number;
}

/** Address of the referenced service. */
export interface ProviderAddress {
  readonly hostname: string;
  readonly port: number;
}

/** An address, or the reason why there is none, as the predicate of a sentence whose subject is the reference. */
type Lookup = ProviderAddress | { readonly problem: string };

/** Returns the service of an extension provider; undefined for a provider without one. */
export function serviceOfProvider({ provider }: MeshConfig_ExtensionProvider): ProviderService | undefined {
  switch (provider.case) {
    case "envoyExtAuthzHttp":
    case "envoyExtAuthzGrpc":
    case "zipkin":
    case "datadog":
    case "skywalking":
    case "opentelemetry":
    case "envoyHttpAls":
    case "envoyTcpAls":
    case "envoyOtelAls":
    case "sds":
      return { service: provider.value.service, port: provider.value.port };
    default:
      return undefined;
  }
}

/**
 * The address of an extension provider's service; undefined if the service is unknown, or if a hostname without a
 * namespace is ambiguous. An alias (ExternalName) has no cluster of its own: its address is that of the service that it
 * stands for. Source: pilot/pkg/model/telemetry_logging.go, LookupCluster, which does not resolve aliases.
 */
export const providerAddress = query(
  "providerAddress",
  (q, reference: ProviderService): ProviderAddress | undefined => {
    const found = q.call(providerLookup, reference);
    return "problem" in found ? undefined : found;
  },
);

/**
 * The reason why requests do not reach the service of an extension provider, as the predicate of a sentence; undefined
 * if the service and its port are known.
 */
export const providerProblem = query(
  "providerProblem",
  (q, { service: name, port }: ProviderService): string | undefined => {
    const found = q.call(providerLookup, { service: name, port });
    if ("problem" in found) return found.problem;
    const ids = q.call(servicesByHostname, found.hostname).flatMap((key) => q.call(declarationsOf, key));
    const ports = [...new Set(ids.flatMap((id) => (q.call(service, id)?.ports ?? []).map(({ number }) => number)))];
    if (ports.includes(port)) return undefined;
    const known = ports.sort((a, b) => a - b).join(", ");
    return `has no port ${port}${known === "" ? "" : `, but ${known}`}`;
  },
);

const providerLookup = query("providerLookup", (q, { service: name, port }: ProviderService): Lookup => {
  const parts = name.split("/");
  const keys = parts.length === 2 ? [name] : name === "" ? [] : q.call(servicesByHostname, name);
  const [key, ...others] = keys.filter((each) => q.call(service, each) !== undefined);
  if (key === undefined) return { problem: "is no service of the mesh" };
  if (others.length > 0) {
    const namespaces = keys.map((each) => splitKey(each)[0]).sort();
    return { problem: `is in the namespaces ${namespaces.join(", ")}, expected namespace/host` };
  }
  const [, hostname] = splitKey(key);
  if (q.call(service, key)?.resolution !== "Alias") return { hostname, port };
  const target = q.call(aliasedHost, hostname);
  if (target === undefined) return { problem: "is an alias of itself, by other aliases" };
  return q.call(servicesByHostname, target).length > 0
    ? { hostname: target, port }
    : { problem: `is an alias of ${target}, which is no service of the mesh: add a ServiceEntry for it` };
});

import type { QueryContext } from "@istiod/incremental";
import { ClientTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { rulesForHost } from "@istiod/push-context";

/** Reports whether a DestinationRule originates TLS to a host, at some port or for some subset. */
export function originatesTls(q: QueryContext, hostname: string): boolean {
  return hasTlsMode(q, hostname, [Mode.SIMPLE, Mode.MUTUAL]);
}

/**
 * Reports whether proxies verify the names of a ServiceEntry in certificates of a host outside the mesh, at some port
 * or for some subset: they do so with any TLS, also that of the mesh.
 */
export function verifiesNames(q: QueryContext, hostname: string): boolean {
  return hasTlsMode(q, hostname, [Mode.SIMPLE, Mode.MUTUAL, Mode.ISTIO_MUTUAL]);
}

/** Reports whether a DestinationRule sets one of some TLS modes for a host, at some port or for some subset. */
function hasTlsMode(q: QueryContext, hostname: string, modes: readonly Mode[]): boolean {
  return rulesForHost(q, hostname).some(({ spec }) =>
    [spec.trafficPolicy, ...spec.subsets.map(({ trafficPolicy }) => trafficPolicy)].some((policy) =>
      [policy?.tls, ...(policy?.portLevelSettings ?? []).map(({ tls }) => tls)].some(
        (tls) => tls !== undefined && modes.includes(tls.mode),
      ),
    ),
  );
}

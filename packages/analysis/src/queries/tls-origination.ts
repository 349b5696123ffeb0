import type { QueryContext } from "@istiod/incremental";
import { ClientTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { rulesForHost } from "@istiod/push-context";

/** Reports whether a DestinationRule originates TLS to a host, at some port or for some subset. */
export function originatesTls(q: QueryContext, hostname: string): boolean {
  return rulesForHost(q, hostname).some(({ spec }) =>
    [spec.trafficPolicy, ...spec.subsets.map(({ trafficPolicy }) => trafficPolicy)].some((policy) =>
      [policy?.tls, ...(policy?.portLevelSettings ?? []).map(({ tls }) => tls)].some(
        (tls) => tls?.mode === Mode.SIMPLE || tls?.mode === Mode.MUTUAL,
      ),
    ),
  );
}

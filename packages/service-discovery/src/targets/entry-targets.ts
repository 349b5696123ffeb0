import { serviceEntries, type ServiceEntryObject } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import type { Endpoint } from "../model/endpoint.js";
import type { ServiceTarget } from "../model/workload.js";
import { endpointsByEntry } from "../service-entry/endpoints.js";
import { declarationsOf, service } from "../services.js";
import type { ProxyIdentity } from "./proxy-identity.js";

/**
 * ServiceEntries that may have an endpoint at an address: those that list it, by `namespace/address`; those that select
 * workloads, by `namespace/`.
 */
const entriesByEndpoint = index(serviceEntries, "byEndpoint", ({ namespace, spec }) =>
  spec.workloadSelector === undefined
    ? spec.endpoints.map(({ address }) => `${namespace}/${address}`)
    : [`${namespace}/`],
);

/** Services of ServiceEntries in a proxy's namespace that have an endpoint at one of its addresses. */
export function entryTargets(q: QueryContext, proxy: ProxyIdentity): readonly ServiceTarget[] {
  return endpointsAt(q, proxy).flatMap(({ entry, hostname, endpoint }) =>
    declaredBy(q, entry, hostname).map((id) => ({
      service: id,
      port: { name: endpoint.portName, number: endpoint.portNumber },
      targetPort: endpoint.port,
    })),
  );
}

interface EndpointOfEntry {
  readonly entry: ServiceEntryObject;
  readonly hostname: string;
  readonly endpoint: Endpoint;
}

/** The endpoints of ServiceEntries in a proxy's namespace at one of its addresses. */
export function endpointsAt(q: QueryContext, { namespace, addresses }: ProxyIdentity): readonly EndpointOfEntry[] {
  return addresses.flatMap((address) => {
    const candidates = [
      ...q.read(entriesByEndpoint, `${namespace}/${address}`),
      ...q.read(entriesByEndpoint, `${namespace}/`),
    ];
    return candidates.flatMap((entry) =>
      entry.spec.hosts.flatMap((hostname) =>
        q
          .call(endpointsByEntry, `${entry.namespace}/${hostname}`)
          .flatMap(({ entry: name, endpoints }) => (name === entry.name ? endpoints : []))
          .filter((endpoint) => endpoint.addresses[0] === address)
          .map((endpoint) => ({ entry, hostname, endpoint })),
      ),
    );
  });
}

/** The ids of the services that one ServiceEntry declares for a host. */
function declaredBy(q: QueryContext, { namespace, name }: ServiceEntryObject, hostname: string): readonly string[] {
  return q.call(declarationsOf, `${namespace}/${hostname}`).filter((id) => {
    const declared = q.call(service, id);
    return declared?.registry === "External" && declared.objectName === name;
  });
}

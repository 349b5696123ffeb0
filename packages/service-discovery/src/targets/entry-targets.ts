import { serviceEntries, type ServiceEntryObject } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import { canonicalAddress } from "../canonical-address.js";
import type { Endpoint } from "../model/endpoint.js";
import type { ServiceTarget } from "../model/workload.js";
import { endpointsByEntry } from "../service-entry/entry-endpoints.js";
import { declarationsOf, service } from "../services.js";
import type { ProxyIdentity } from "./proxy-identity.js";

/**
 * ServiceEntries that may have an endpoint at an address: those that list it, by `namespace/address`; those with a
 * workload selector, by `namespace/`.
 */
const entriesByEndpoint = index(serviceEntries, "byEndpoint", ({ namespace, spec }) =>
  spec.workloadSelector === undefined
    ? spec.endpoints.map(({ address }) => `${namespace}/${canonicalAddress(address)}`)
    : [`${namespace}/`],
);

/** Returns the services of ServiceEntries in a proxy's namespace with an endpoint at one of its addresses. */
export function entryTargets(q: QueryContext, proxy: ProxyIdentity): readonly ServiceTarget[] {
  return endpointsAt(q, proxy).flatMap(({ entry, hostname, endpoint }) =>
    servicesDeclaredBy(q, entry, hostname).map((id) => ({
      service: id,
      port: { name: endpoint.portName, number: endpoint.portNumber },
      targetPort: endpoint.port,
    })),
  );
}

interface EntryEndpoint {
  readonly entry: ServiceEntryObject;
  readonly hostname: string;
  readonly endpoint: Endpoint;
}

/** Returns the endpoints of ServiceEntries in a proxy's namespace at one of its addresses. */
export function endpointsAt(q: QueryContext, { namespace, addresses }: ProxyIdentity): readonly EntryEndpoint[] {
  return addresses.map(canonicalAddress).flatMap((address) => {
    const candidates = [
      ...q.read(entriesByEndpoint, `${namespace}/${address}`),
      ...q.read(entriesByEndpoint, `${namespace}/`),
    ];
    return candidates.flatMap((entry) =>
      entry.spec.hosts.flatMap((hostname) =>
        q
          .call(endpointsByEntry, { service: `${entry.namespace}/${hostname}` })
          .flatMap(({ entry: name, endpoints }) => (name === entry.name ? endpoints : []))
          .filter((endpoint) => canonicalAddress(endpoint.addresses[0] ?? "") === address)
          .map((endpoint) => ({ entry, hostname, endpoint })),
      ),
    );
  });
}

/** Returns the IDs of the services that a ServiceEntry declares for a host. */
function servicesDeclaredBy(
  q: QueryContext,
  { namespace, name }: ServiceEntryObject,
  hostname: string,
): readonly string[] {
  return q.call(declarationsOf, `${namespace}/${hostname}`).filter((id) => {
    const declared = q.call(service, id);
    return declared?.registry === "External" && declared.objectName === name;
  });
}

import { isIP } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { query } from "@istiod/incremental";
import {
  type NameTable_NameInfo,
  NameTable_NameInfoSchema,
  NameTableSchema,
} from "@istiod/istio-api/networking/nds/v1/nds";
import {
  clientAddresses,
  egressListeners,
  type ScopedService,
  scopedService,
  scopeOf,
  listenerServices,
} from "@istiod/push-context";
import { type Failure, resource, ResourceSet } from "@istiod/resources";
import { UNSPECIFIED_ADDRESS } from "@istiod/service-discovery";
import { attempt, serviceObject } from "../attempt.js";
import { failedNames } from "../failed-services.js";
import { headlessNames } from "./headless-names.js";
import type { NamedAddresses } from "./named-addresses.js";

/** Hosts of multi-cluster services have no short names, which belong to the clusters' own services. */
const clusterSetDomain = ".clusterset.local";

/**
 * The DNS name table for the client's agent, one unnamed resource: all services that the client can reach, and the pods
 * of headless ones. Source: pkg/dns/server/name_table.go.
 */
export const nameTable = query("nameTable", (q): ResourceSet => {
  const table: Record<string, NameTable_NameInfo> = {};
  const failures: Failure[] = [];
  const scope = scopeOf(q);
  for (const listener of q.call(egressListeners, scope).keys()) {
    for (const scoped of q.call(listenerServices, { scope, listener })) {
      const names = attempt(
        () => q.call(serviceNames, scoped),
        failures,
        () => ({ name: "", part: { name: scoped.hostname, match: "end" }, objects: [serviceObject(scoped.service)] }),
      );
      for (const named of names ?? []) addName(table, named, named.name === scoped.hostname);
    }
  }
  const bytes = toBinary(NameTableSchema, create(NameTableSchema, { table: sortedByName(table) }));
  const all = [...failures, ...q.call(failedNames)];
  return ResourceSet.of([{ ...resource("", bytes), ...(all.length > 0 && { failures: all }) }]);
});

/** The names of one service: its pods', then its own. Empty if no address is known. */
const serviceNames = query("serviceNames", (q, scoped: ScopedService): readonly NamedAddresses[] => {
  const service = q.call(scopedService, scoped);
  if (service === undefined) return [];
  const { hostname, namespace, registry } = service;
  const own = clientAddresses(q, service);
  const headless = own.includes(UNSPECIFIED_ADDRESS);
  const pods =
    headless && service.resolution === "Passthrough" && service.ports.length > 0
      ? headlessNames(q, service)
      : undefined;
  const addresses = [
    ...own.filter((address) => address !== UNSPECIFIED_ADDRESS && isIP(address) !== 0),
    ...(pods?.addresses ?? []),
  ];
  if (addresses.length === 0) return pods?.names ?? [];
  const shortened = registry === "Kubernetes" && !hostname.endsWith(clusterSetDomain);
  const named = {
    name: hostname,
    addresses,
    registry,
    shortName: shortened ? service.name : "",
    namespace: shortened ? namespace : "",
  };
  return [...(pods?.names ?? []), named];
});

/**
 * Adds a name. For one host, ServiceEntries add addresses and a Kubernetes Service overrides them. Of pods with one
 * name, the last one wins.
 */
function addName(table: Record<string, NameTable_NameInfo>, named: NamedAddresses, isService: boolean): void {
  const existing = isService ? table[named.name] : undefined;
  if (existing === undefined || (existing.registry !== "Kubernetes" && named.registry === "Kubernetes")) {
    const { addresses, registry, shortName, namespace } = named;
    table[named.name] = create(NameTable_NameInfoSchema, {
      ips: [...addresses],
      registry,
      shortname: shortName,
      namespace,
    });
  } else if (existing.registry !== "Kubernetes") {
    existing.ips = [...new Set([...existing.ips, ...named.addresses])];
  }
}

function sortedByName(table: Record<string, NameTable_NameInfo>): Record<string, NameTable_NameInfo> {
  return Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
}

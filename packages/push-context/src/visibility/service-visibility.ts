import { query } from "@istiod/incremental";
import { declarationsOf, service, servicesByHostname } from "@istiod/service-discovery";
import { serviceExportScope } from "./service-header.js";

/** The namespaces to which the services of a host look different than to the others. */
export interface ServiceVisibility {
  /** Namespaces that declare the host. */
  readonly owners: readonly string[];
  /** Namespaces that a declaration is exported to by name. */
  readonly namespaces: readonly string[];
  /** True if a declaration is not public. */
  readonly limited: boolean;
}

/** The visibility of the services of a host. */
export const serviceVisibility = query("serviceVisibility", (q, host: string): ServiceVisibility => {
  const ids = q.call(servicesByHostname, host).flatMap((key) => q.call(declarationsOf, key));
  // Not their headers: they are of no use to other queries where nothing is generated, as in an analysis of files.
  const services = ids.flatMap((id) => q.call(service, id) ?? []);
  const scopes = services.map((found) => serviceExportScope(q, found));
  return {
    owners: [...new Set(services.map(({ namespace }) => namespace))].sort(),
    namespaces: [...new Set(scopes.flatMap(({ namespaces }) => namespaces))].sort(),
    limited: scopes.some(({ everyone }) => !everyone),
  };
});

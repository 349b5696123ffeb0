import { query } from "@istiod/incremental";
import { declarationsOf, servicesByHostname } from "@istiod/service-discovery";
import { serviceHeader } from "./service-header.js";

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
  const headers = ids.flatMap((id) => q.call(serviceHeader, id) ?? []);
  return {
    owners: [...new Set(headers.map(({ namespace }) => namespace))].sort(),
    namespaces: [...new Set(headers.flatMap(({ exportedTo }) => exportedTo.namespaces))].sort(),
    limited: headers.some(({ exportedTo }) => !exportedTo.everyone),
  };
});

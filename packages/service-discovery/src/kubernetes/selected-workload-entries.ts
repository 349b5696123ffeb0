import { services, workloadEntriesByNamespace } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { selects } from "../labels.js";
import type { Endpoint } from "../model/endpoint.js";
import { settings } from "../settings/features.js";
import { workloadEndpoint } from "../workloads/workload-endpoint.js";
import { entryWorkload } from "../workloads/workload-entry.js";
import type { ServiceInCluster } from "./kubernetes-service.js";
import { targetPortOnWorkload } from "./target-port.js";

/**
 * Endpoints of the WorkloadEntries that a Service selects in its cluster and namespace. Headless and ExternalName
 * Services select none.
 */
export const selectedWorkloadEntries = query(
  "selectedWorkloadEntries",
  (q, at: ServiceInCluster): readonly Endpoint[] => {
    const entries = q.read(workloadEntriesByNamespace, at.namespace).filter(({ cluster }) => cluster === at.cluster);
    if (entries.length === 0 || !settings.serviceSelectsWorkloadEntries(q)) return [];
    const spec = q.read(services, `${at.cluster}/${at.namespace}/${at.name}`)?.spec;
    if (spec === undefined || spec.clusterIP === "None" || spec.type === "ExternalName") return [];
    const workloads = entries
      .flatMap(({ namespace, name }) => q.call(entryWorkload, `${at.cluster}/${namespace}/${name}`) ?? [])
      .filter((workload) => !workload.dnsOnly && selects(spec.selector, workload.labels));
    return spec.ports.flatMap((servicePort) =>
      workloads.flatMap((workload) => {
        const port = targetPortOnWorkload(servicePort, workload.ports);
        if (port === undefined) return [];
        const { addresses } = workload;
        return [
          workloadEndpoint(workload, { addresses, port, portName: servicePort.name, portNumber: 0, health: "Unknown" }),
        ];
      }),
    );
  },
);

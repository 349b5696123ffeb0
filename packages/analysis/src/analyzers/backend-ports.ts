import { configCluster, type ConfigObject, services } from "@istiod/config-schema";
import type { AnalysisContext } from "../analyzer.js";

/** A reference to a backend of the Gateway API. */
interface Reference {
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly port?: number | undefined;
}

interface Backends {
  readonly rules?: readonly { readonly backendRefs?: readonly Reference[] }[];
}

/** Reports backends whose Service exists and lacks the port. */
export function checkBackendPorts({ namespace, spec }: ConfigObject<unknown>, { q, report }: AnalysisContext): void {
  for (const [i, { backendRefs = [] }] of ((spec as Backends).rules ?? []).entries())
    for (const [j, { group = "", kind = "Service", namespace: own = namespace, name, port }] of backendRefs.entries()) {
      if (group !== "" || kind !== "Service" || port === undefined) continue;
      const service = q.read(services, `${configCluster(q)}/${own}/${name}`);
      const ports = service?.spec.ports.map(({ port: number }) => number) ?? [];
      if (service === undefined || ports.includes(port)) continue;
      report(
        "MESH0041",
        ["spec", "rules", i, "backendRefs", j, "port"],
        `Service ${own}/${name} has no port ${port}, so that requests to it fail: it has ${ports.join(", ") || "none"}`,
      );
    }
}

import { quantityOf } from "@istiod/config-schema";

/**
 * Returns the faults of annotations by name, as predicates, which set requests of the proxy above its limits. The API
 * server rejects such Pods.
 */
export function resourceFaults(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const name of ["sidecar.istio.io/proxyCPU", "sidecar.istio.io/proxyMemory"]) {
    const [request = "", limit = ""] = [annotations[name], annotations[`${name}Limit`]];
    const [asked, most] = [quantityOf(request), quantityOf(limit)];
    if (asked !== undefined && most !== undefined && asked > most)
      faults[name] = `is ${request}, which is more than the limit ${limit}, so that the Pod cannot be created`;
  }
  return faults;
}

import { fact } from "@istiod/incremental";
import { instancesByAddress, keyOfId, service, type ServiceTarget, splitKey } from "@istiod/service-discovery";
import type { Proxy } from "./proxy.js";

/**
 * The services that the client's workload implements, and where: of the oldest service first, then by hostname
 * (pilot/pkg/model/context.go, SetServiceTargets).
 */
export const serviceTargets = fact("serviceTargets", (proxy: Proxy, _: undefined, q): readonly ServiceTarget[] => {
  const found = new Map<string, ServiceTarget>();
  for (const address of proxy.ipAddresses) {
    for (const target of q.call(instancesByAddress, address)) found.set(`${target.service} ${target.port.name} ${target.port.number} ${target.targetPort}`, target);
  }
  const age = (target: ServiceTarget): number => q.call(service, target.service)?.creationTimestamp ?? 0;
  const hostname = (target: ServiceTarget): string => splitKey(keyOfId(target.service))[1];
  return [...found.values()].sort((a, b) => age(a) - age(b) || (hostname(a) < hostname(b) ? -1 : hostname(a) > hostname(b) ? 1 : 0));
});

import { type Database, query } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { service, serviceOrder, type Service } from "@istiod/service-discovery";

const registry = query("debug.registry", (q): readonly Service[] => q.call(serviceOrder).flatMap((id) => q.call(service, id) ?? []));

/** `/debug/registryz`: every service, in the order in which they count. */
export function registeredServices(database: Database<Proxy>): readonly Service[] {
  const view = database.view(proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }));
  try {
    return view.call(registry);
  } finally {
    view.release();
  }
}

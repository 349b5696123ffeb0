import type { Database, View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";

/** A view for queries that ask nothing about the client. */
export function ownView(database: Database<Proxy>): View<Proxy> {
  return database.view(proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }));
}

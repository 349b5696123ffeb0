import type { Database, View } from "@istiod/incremental";
import { proxyFromNode } from "../proxy/from-node.js";
import type { Proxy } from "../proxy/proxy.js";

/** A client for queries that ask no facts. */
const anyClient = proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" });

/** Calls queries that ask no facts about the client. */
export function callWithoutClient<R>(database: Database<Proxy>, call: (view: View<Proxy>) => R): R {
  const view = database.view(anyClient);
  try {
    return call(view);
  } finally {
    view.release();
  }
}

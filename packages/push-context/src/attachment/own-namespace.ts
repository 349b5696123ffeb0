import { fact } from "@istiod/incremental";
import type { Proxy } from "../proxy/proxy.js";

/** The client's namespace if it is one of these. Clients of all other namespaces share one class. */
export const namespaceAmong = fact("namespaceAmong", (proxy: Proxy, namespaces: readonly string[]) =>
  namespaces.includes(proxy.namespace) ? proxy.namespace : undefined,
);

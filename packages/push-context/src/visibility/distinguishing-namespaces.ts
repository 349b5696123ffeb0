import { fact, type FactContext, query } from "@istiod/incremental";
import type { Proxy } from "../proxy/proxy.js";
import { meshGateway } from "../routing/short-names.js";
import {
  distinguishingNamespacesOf,
  sourceNamespaces,
  virtualServiceHeader,
  virtualServicesBoundTo,
} from "../routing/virtual-service-index.js";
import { serviceHeaders } from "./service-header.js";

/** The client's namespace, for Sidecars that import relative to it. */
export const clientNamespace = fact("namespace", (proxy: Proxy): string | undefined => proxy.namespace);

/**
 * The client's namespace if it sees anything differently from a namespace without objects. See
 * docs/design/004-namespaces-as-predicates.md.
 */
export const distinguishingNamespace = fact(
  "distinguishingNamespace",
  (proxy: Proxy, _: void, q: FactContext): string | undefined =>
    q.call(distinguishingNamespaces)[proxy.namespace] === true ? proxy.namespace : undefined,
);

/**
 * Namespaces that see something differently from others: namespaces that an object is exported to by name, owners of a
 * host that several namespaces declare or of an object that is not public, and source namespaces that a route matches
 * on. Services and routes are separate queries, so that a change of one kind does not recompute the other.
 */
const distinguishingNamespaces = query("distinguishingNamespaces", (q): Readonly<Record<string, true>> => ({
  ...q.call(distinguishedByServices),
  ...q.call(distinguishedByRoutes),
}));

const distinguishedByServices = query("distinguishedByServices", (q): Readonly<Record<string, true>> => {
  const out: Record<string, true> = {};
  const owners = new Map<string, string>();
  for (const { hostname, namespace, exportedTo } of q.call(serviceHeaders).headers) {
    const other = owners.get(hostname);
    if (other !== undefined && other !== namespace) {
      out[other] = out[namespace] = true;
    }
    owners.set(hostname, namespace);
    if (!exportedTo.everyone) {
      out[namespace] = true;
      exportedTo.namespaces.forEach((target) => (out[target] = true));
    }
  }
  return out;
});

const distinguishedByRoutes = query("distinguishedByRoutes", (q): Readonly<Record<string, true>> => {
  const out: Record<string, true> = {};
  for (const key of q.call(virtualServicesBoundTo, meshGateway)) {
    const header = q.call(virtualServiceHeader, key);
    for (const namespace of [
      ...(header === undefined ? [] : distinguishingNamespacesOf(header)),
      ...q.call(sourceNamespaces, key),
    ]) {
      out[namespace] = true;
    }
  }
  return out;
});

import { type HTTPRoute, HTTPRouteSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { encodedBound, encodedSize } from "../../../validation/products.js";

/**
 * Returns the bytes of routes in proxies for one host. The actions of a route are repeated for each of its matches,
 * which its size does not tell.
 */
export function copiedBytes(http: readonly HTTPRoute[]): number {
  return http.reduce((sum, route) => {
    const size = encodedSize(HTTPRouteSchema, [route]);
    if (route.match.length < 2) return sum + size;
    const shared = encodedSize(HTTPRouteSchema, [{ ...route, match: [] }]);
    return sum + size + shared * (route.match.length - 1);
  }, 0);
}

/** Returns a number that {@link copiedBytes} does not exceed, in a fraction of its time. */
export function copiedBytesBound(http: readonly HTTPRoute[]): number {
  return http.reduce((sum, route) => sum + encodedBound(route) * Math.max(1, route.match.length), 0);
}

import { type HTTPRoute, HTTPRouteSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { encodedBound, encodedSize } from "../../../validation/products.js";

/**
 * Returns the bytes of routes in proxies for one host. The actions of a route are repeated for each of its matches,
 * which its size does not tell.
 */
export function copiedBytes(http: readonly HTTPRoute[]): number {
  return http.reduce((sum, route) => sum + copiedBytesOf(route), 0);
}

/** Bytes by route: those of an object that stands for many others are asked for whenever one of them changes. */
const known = new WeakMap<HTTPRoute, number>();

function copiedBytesOf(route: HTTPRoute): number {
  let bytes = known.get(route);
  if (bytes === undefined) {
    bytes = encodedSize(HTTPRouteSchema, [route]);
    if (route.match.length > 1)
      bytes += encodedSize(HTTPRouteSchema, [{ ...route, match: [] }]) * (route.match.length - 1);
    known.set(route, bytes);
  }
  return bytes;
}

/** Returns a number that {@link copiedBytes} does not exceed, in a fraction of its time. */
export function copiedBytesBound(http: readonly HTTPRoute[]): number {
  return http.reduce((sum, route) => sum + encodedBound(route) * Math.max(1, route.match.length), 0);
}

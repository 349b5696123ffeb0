import { Code, ConnectError } from "@connectrpc/connect";
import type { XdsRequest } from "../wire/request.js";
import type { DiscoveryMethod } from "./call.js";

/**
 * The request with its type: a service of one type need not be told it.
 *
 * @throws ConnectError `InvalidArgument` if it has none, or another than the service's
 */
export function addressed(request: XdsRequest, { typeUrl }: DiscoveryMethod): XdsRequest {
  if (request.typeUrl === "") {
    if (typeUrl === undefined) throw new ConnectError("the aggregated service needs a type URL", Code.InvalidArgument);
    return { ...request, typeUrl };
  }
  if (typeUrl !== undefined && request.typeUrl !== typeUrl) {
    throw new ConnectError(`this service has ${typeUrl} only, not ${request.typeUrl}`, Code.InvalidArgument);
  }
  return request;
}

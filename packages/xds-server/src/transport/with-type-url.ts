import { Code, ConnectError } from "@connectrpc/connect";
import type { XdsRequest } from "../wire/request.js";
import type { DiscoveryMethod } from "./call.js";

/**
 * Returns the request with its type URL; on a single-type service, the service's type is the default.
 *
 * @throws ConnectError `InvalidArgument` if the request has no type URL, or one that differs from the service's
 */
export function withTypeUrl(request: XdsRequest, { typeUrl }: DiscoveryMethod): XdsRequest {
  if (request.typeUrl === "") {
    if (typeUrl === undefined)
      throw new ConnectError("type URL is required for the aggregated discovery service", Code.InvalidArgument);
    const { responseNonce, errorDetail, names, unsubscribe, initialVersions } = request;
    return {
      get node() {
        return request.node;
      },
      typeUrl,
      responseNonce,
      errorDetail,
      names,
      unsubscribe,
      initialVersions,
    };
  }
  if (typeUrl !== undefined && request.typeUrl !== typeUrl) {
    throw new ConnectError(`this service serves ${typeUrl}, not ${request.typeUrl}`, Code.InvalidArgument);
  }
  return request;
}

import { create } from "@bufbuild/protobuf";
import type { GrpcMethodMatch, GrpcRouteMatch, HttpRouteMatch, ValueMatch } from "@istiod/config-schema";
import {
  type HTTPMatchRequest,
  HTTPMatchRequestSchema,
  type StringMatch,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { stringMatch } from "./messages.js";

export function httpMatch({ path, headers, queryParams, method }: HttpRouteMatch): HTTPMatchRequest {
  return create(HTTPMatchRequestSchema, {
    uri: pathMatch(path),
    headers: valueMatches(headers),
    queryParams: valueMatches(queryParams),
    ...(method !== undefined && { method: stringMatch("exact", method) }),
  });
}

export function grpcMatch({ method, headers }: GrpcRouteMatch): HTTPMatchRequest {
  return create(HTTPMatchRequestSchema, {
    ...(method !== undefined && { uri: methodMatch(method) }),
    headers: valueMatches(headers),
  });
}

/**
 * The name of a header match that stands for a share of requests, which matches of Istio's API do not have: those in a
 * million of which a random number of the request is less than its value. No header can have this name.
 */
export const shareHeader = "@share";

/**
 * Returns a match of a part of the requests.
 *
 * @param match undefined for all requests
 * @param upTo undefined for all requests that no route before has
 */
export function sharedMatch(match: HTTPMatchRequest | undefined, upTo: number | undefined): HTTPMatchRequest {
  const { $typeName: _, $unknown: __, ...fields } = match ?? create(HTTPMatchRequestSchema);
  const share = upTo === undefined ? {} : { [shareHeader]: stringMatch("exact", String(upTo)) };
  return create(HTTPMatchRequestSchema, { ...fields, headers: { ...fields.headers, ...share } });
}

/** Returns the match of a path. A slash at the end of a prefix has no meaning. */
function pathMatch({ type, value }: HttpRouteMatch["path"]): StringMatch {
  if (type === "PathPrefix") return stringMatch("prefix", value === "/" ? value : value.replace(/\/$/, ""));
  return stringMatch(type === "Exact" ? "exact" : "regex", value);
}

function valueMatches(matches: readonly ValueMatch[]): Record<string, StringMatch> {
  return Object.fromEntries(
    matches.map(({ type, name, value }) => [name, stringMatch(type === "Exact" ? "exact" : "regex", value)]),
  );
}

/** Returns the match of the paths `/service/method` that gRPC calls have. */
function methodMatch({ type, service, method }: GrpcMethodMatch): StringMatch {
  if (service === undefined) return stringMatch("regex", `/[^/]+/${method ?? ""}`);
  if (type === "Exact")
    return method === undefined ? stringMatch("prefix", `/${service}/`) : stringMatch("exact", `/${service}/${method}`);
  return stringMatch("regex", `/${service}/${method ?? ".+"}`);
}

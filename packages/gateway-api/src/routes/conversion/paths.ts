import { create } from "@bufbuild/protobuf";
import type { RequestRedirect, UrlRewrite } from "@istiod/config-schema";
import {
  type HTTPRedirect,
  HTTPRedirect_RedirectPortSelection as PortSelection,
  HTTPRedirectSchema,
  type HTTPRewrite,
  HTTPRewriteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** Returns the rewrite of a filter; undefined if it changes nothing. */
export function rewriteOf({ hostname, path }: UrlRewrite): HTTPRewrite | undefined {
  if (path === undefined && hostname === undefined) return undefined;
  return create(HTTPRewriteSchema, {
    ...(hostname !== undefined && { authority: hostname }),
    ...(path?.type === "ReplacePrefixMatch" && { uri: path.replacePrefixMatch.replace(/\/$/, "") || "/" }),
    ...(path?.type === "ReplaceFullPath" && { uriRegexRewrite: { match: "/.*", rewrite: path.replaceFullPath } }),
  });
}

/**
 * Returns the redirect of a filter. Without a port, that of the request is kept, unless the scheme changes and with it
 * the default port.
 */
export function redirectOf({ statusCode, hostname, scheme, port, path }: RequestRedirect): HTTPRedirect {
  return create(HTTPRedirectSchema, {
    redirectCode: statusCode,
    authority: hostname ?? "",
    scheme: scheme ?? "",
    redirectPort:
      port === undefined
        ? {
            case: "derivePort",
            value: scheme === undefined ? PortSelection.FROM_REQUEST_PORT : PortSelection.FROM_PROTOCOL_DEFAULT,
          }
        : { case: "port", value: port },
    uri: path?.type === "ReplaceFullPath" ? path.replaceFullPath : "",
    prefixRewrite: path?.type === "ReplacePrefixMatch" ? path.replacePrefixMatch : "",
  });
}

import { create } from "@bufbuild/protobuf";
import {
  type DirectResponseAction,
  DirectResponseActionSchema,
  type RedirectAction,
  RedirectAction_RedirectResponseCode as ResponseCode,
  RedirectActionSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import {
  type HTTPDirectResponse,
  type HTTPRedirect,
  HTTPRedirect_RedirectPortSelection,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** Converts a redirect of requests that arrived at `port`; undefined for a status code that is not a redirect. */
export function redirectAction(redirect: HTTPRedirect, port: number, tls: boolean): RedirectAction | undefined {
  const responseCode = responseCodes[redirect.redirectCode];
  return responseCode === undefined
    ? undefined
    : create(RedirectActionSchema, {
        hostRedirect: redirect.authority,
        pathRewriteSpecifier:
          redirect.prefixRewrite === ""
            ? { case: "pathRedirect", value: redirect.uri }
            : { case: "prefixRewrite", value: redirect.prefixRewrite },
        ...(redirect.scheme === ""
          ? {}
          : { schemeRewriteSpecifier: { case: "schemeRedirect", value: redirect.scheme } }),
        portRedirect: redirectPort(redirect, port, tls),
        responseCode,
      });
}

/** Returns a direct response. */
export function directResponse({ status, body }: HTTPDirectResponse): DirectResponseAction {
  switch (body?.specifier.case) {
    case "string":
      return create(DirectResponseActionSchema, {
        status,
        body: { specifier: { case: "inlineString", value: body.specifier.value } },
      });
    case "bytes":
      return create(DirectResponseActionSchema, {
        status,
        body: { specifier: { case: "inlineBytes", value: body.specifier.value } },
      });
    default:
      return create(DirectResponseActionSchema, { status });
  }
}

/** Returns the port of a redirect; 0 if it is the scheme's default. */
function redirectPort({ redirectPort: wanted, scheme }: HTTPRedirect, port: number, tls: boolean): number {
  const asked =
    wanted.case === "port"
      ? wanted.value
      : wanted.case === "derivePort" && wanted.value === HTTPRedirect_RedirectPortSelection.FROM_REQUEST_PORT
        ? port
        : 0;
  const usual = { http: 80, https: 443 }[scheme || (tls ? "https" : "http")];
  return asked === usual ? 0 : asked;
}

const responseCodes: Readonly<Record<number, ResponseCode>> = {
  0: ResponseCode.MOVED_PERMANENTLY,
  301: ResponseCode.MOVED_PERMANENTLY,
  302: ResponseCode.FOUND,
  303: ResponseCode.SEE_OTHER,
  307: ResponseCode.TEMPORARY_REDIRECT,
  308: ResponseCode.PERMANENT_REDIRECT,
};

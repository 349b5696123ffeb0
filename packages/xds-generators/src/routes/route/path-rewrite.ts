import { create } from "@bufbuild/protobuf";
import type { Route, RouteAction } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { RegexMatchAndSubstituteSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/regex";
import type { HTTPRewrite } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { RouteSemantics } from "@istiod/push-context";
import { quoteRegex } from "../../envoy/regex.js";

export function rewritePath(
  action: RouteAction,
  { uri, uriRegexRewrite }: HTTPRewrite,
  { match }: Route,
  semantics: RouteSemantics,
): void {
  if (uriRegexRewrite !== undefined) {
    setRegexRewrite(action, uriRegexRewrite.match, uriRegexRewrite.rewrite);
  } else if (uri === "/" && semantics === "gateway-api") {
    const prefix = match?.pathSpecifier.case === "pathSeparatedPrefix" ? match.pathSpecifier.value : "";
    setRegexRewrite(action, `^${quoteRegex(prefix)}(/?)(.*)`, "/\\2");
  } else if (uri !== "") {
    action.prefixRewrite = uri;
  }
}

function setRegexRewrite(action: RouteAction, regex: string, substitution: string): void {
  action.regexRewrite = create(RegexMatchAndSubstituteSchema, { pattern: { regex }, substitution });
}

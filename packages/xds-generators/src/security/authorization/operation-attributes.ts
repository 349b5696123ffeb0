import { create } from "@bufbuild/protobuf";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { UriTemplateMatchConfigSchema } from "@istiod/envoy-api/envoy/extensions/path/match/uri_template/v3/uri_template_match";
import { PathMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/path";
import { packAny } from "../../envoy/any.js";
import type { Attribute } from "./attribute.js";
import { headerMatcher, patternMatcher } from "./patterns.js";
import { type Permission, permission } from "./permission.js";

export const host: Attribute<Permission> = {
  httpOnly: true,
  each: (value) => permission("header", headerMatcher(":authority", value, true)),
};

export const method: Attribute<Permission> = {
  httpOnly: true,
  each: (value) => permission("header", headerMatcher(":method", value)),
};

export const path: Attribute<Permission> = {
  httpOnly: true,
  each: (value) => {
    if (!value.includes("{*}") && !value.includes("{**}")) {
      return permission("urlPath", create(PathMatcherSchema, { rule: { case: "path", value: patternMatcher(value) } }));
    }
    const pathTemplate = value.replaceAll("{*}", "*").replaceAll("{**}", "**");
    const typedConfig = packAny(UriTemplateMatchConfigSchema, { pathTemplate });
    return permission("uriTemplate", create(TypedExtensionConfigSchema, { name: "uri-template", typedConfig }));
  },
};

export const destinationPort: Attribute<Permission> = {
  each: (value) =>
    /^\d+$/.test(value) && Number(value) <= 65535 ? permission("destinationPort", Number(value)) : undefined,
};

/**
 * The exchange of peers between proxies without Istio's metadata exchange: each introduces its workload, which labels
 * of metrics name, in a header. Its value is in the environment of Envoy, so that clients share the filters.
 */

import { create } from "@bufbuild/protobuf";
import { HeaderMutationSchema as MutationSchema } from "@istiod/envoy-api/envoy/config/common/mutation_rules/v3/mutation_rules";
import { HeaderValueOption_HeaderAppendAction as AppendAction } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { ExtensionWithMatcherSchema } from "@istiod/envoy-api/envoy/extensions/common/matching/v3/extension_matcher";
import { SkipFilterSchema } from "@istiod/envoy-api/envoy/extensions/filters/common/matcher/action/v3/skip_action";
import { HeaderMutationSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/header_mutation/v3/header_mutation";
import {
  type Config_Rule,
  Config_RuleSchema,
  Config_ValueType,
  ConfigSchema as HeaderToMetadataSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/header_to_metadata/v3/header_to_metadata";
import { HttpRequestHeaderMatchInputSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/http_inputs";
import { query, type QueryContext } from "@istiod/incremental";
import { features, hasExtension } from "@istiod/push-context";
import { peerHeader, peerMetadata, peerVariable } from "@istiod/standard-metrics";
import { packAny } from "../../envoy/any.js";
import { type HttpFilter, httpFilter } from "../../envoy/filters.js";
import { hasIstioExtension } from "../../istio-extensions.js";

const extensions = [
  "envoy.filters.http.header_mutation",
  "envoy.filters.http.header_to_metadata",
  "envoy.filters.http.match_delegate",
];

/** Reports whether the client exchanges peers by stock filters: it lacks Istio's, and has what they need. */
const exchangesByHeader = query(
  "exchangesPeersByHeader",
  (q): boolean =>
    features.metadataExchange(q) &&
    !hasIstioExtension(q, "peerMetadata") &&
    extensions.every((name) => q.ask(hasExtension, name)),
);

/** Returns the filters of outbound requests: the proxy introduces itself, and reads who has answered. */
export function outboundPeerExchange(q: QueryContext): readonly HttpFilter[] {
  return q.call(exchangesByHeader) ? outbound : [];
}

/** Returns the filters of inbound requests: the proxy reads who asks, and introduces itself to those that have. */
export function inboundPeerExchange(q: QueryContext): readonly HttpFilter[] {
  return q.call(exchangesByHeader) ? inbound : [];
}

const introduction = create(MutationSchema, {
  action: {
    case: "append",
    value: {
      header: { key: peerHeader, value: `%ENVIRONMENT(${peerVariable})%` },
      appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    },
  },
});

/** Moves the header to dynamic metadata. */
const discovery: Config_Rule = create(Config_RuleSchema, {
  header: peerHeader,
  onHeaderPresent: {
    metadataNamespace: peerMetadata.namespace,
    key: peerMetadata.key,
    type: Config_ValueType.STRING,
  },
  remove: true,
});

const introductionName = "istio.peer_introduction";
const discoveryName = "istio.peer_discovery";

const outbound: readonly HttpFilter[] = [
  httpFilter(introductionName, packAny(HeaderMutationSchema, { mutations: { requestMutations: [introduction] } })),
  httpFilter(discoveryName, packAny(HeaderToMetadataSchema, { responseRules: [discovery] })),
];

const responseIntroduction = create(TypedExtensionConfigSchema, {
  name: introductionName,
  typedConfig: packAny(HeaderMutationSchema, { mutations: { responseMutations: [introduction] } }),
});

const inbound: readonly HttpFilter[] = [
  // Only peers are told, not every client.
  httpFilter(
    introductionName,
    packAny(ExtensionWithMatcherSchema, {
      extensionConfig: responseIntroduction,
      xdsMatcher: {
        matcherType: {
          case: "matcherList",
          value: {
            matchers: [
              {
                predicate: {
                  matchType: {
                    case: "notMatcher",
                    value: {
                      matchType: {
                        case: "singlePredicate",
                        value: {
                          input: {
                            name: "peer",
                            typedConfig: packAny(HttpRequestHeaderMatchInputSchema, { headerName: peerHeader }),
                          },
                          matcher: {
                            case: "valueMatch",
                            value: {
                              matchPattern: {
                                case: "safeRegex",
                                value: { regex: ".+", engineType: { case: "googleRe2", value: {} } },
                              },
                            },
                          },
                        },
                      },
                    },
                  },
                },
                onMatch: {
                  onMatch: { case: "action", value: { name: "skip", typedConfig: packAny(SkipFilterSchema) } },
                },
              },
            ],
          },
        },
      },
    }),
  ),
  httpFilter(discoveryName, packAny(HeaderToMetadataSchema, { requestRules: [discovery] })),
];

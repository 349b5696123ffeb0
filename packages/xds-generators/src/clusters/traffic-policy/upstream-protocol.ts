import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type Http1ProtocolOptions,
  Http1ProtocolOptionsSchema,
  Http2ProtocolOptionsSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/protocol";
import { PreserveCaseFormatterConfigSchema } from "@istiod/envoy-api/envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case";
import {
  HttpProtocolOptions_ExplicitHttpConfigSchema,
  HttpProtocolOptions_UseDownstreamHttpConfigSchema,
  HttpProtocolOptionsSchema,
} from "@istiod/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options";
import { query, type QueryContext } from "@istiod/incremental";
import { MeshConfig_H2UpgradePolicy } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  type ConnectionPoolSettings,
  ConnectionPoolSettings_HTTPSettings_H2UpgradePolicy as UpgradePolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { mesh, proxyConfig, proxyType } from "@istiod/push-context";
import { isHttp, isHttp2, isUndeclared, type Protocol } from "@istiod/service-discovery";
import { packAny } from "../../envoy/any.js";
import { type ClusterDraft, httpOptions } from "../cluster-draft.js";

/**
 * Applies the protocol that the port declares: HTTP/2 if it says so. If undeclared, sidecars and waypoints use the
 * downstream protocol. Gateways do not, since they detect no protocol and would offer HTTP/2 to servers that may lack
 * it.
 */
export function applyDeclaredProtocol(q: QueryContext, draft: ClusterDraft, protocol: Protocol): void {
  if (isHttp2(protocol)) {
    useHttp2(draft);
    return;
  }
  const undeclared = isUndeclared(protocol);
  if ((undeclared || isHttp(protocol)) && q.call(preservesHeaderCase)) {
    httpOptions(draft).upstreamProtocolOptions = {
      case: "explicitHttpConfig",
      value: create(HttpProtocolOptions_ExplicitHttpConfigSchema, {
        protocolConfig: { case: "httpProtocolOptions", value: preserveCaseOptions() },
      }),
    };
  }
  if (undeclared && q.ask(proxyType) !== "router") useDownstreamProtocol(draft);
}

/** Selects HTTP/2, unless a protocol is already selected. */
export function useHttp2(draft: ClusterDraft): void {
  const options = httpOptions(draft);
  if (options.upstreamProtocolOptions.case !== undefined) return;
  options.upstreamProtocolOptions = {
    case: "explicitHttpConfig",
    value: create(HttpProtocolOptions_ExplicitHttpConfigSchema, {
      protocolConfig: { case: "http2ProtocolOptions", value: create(Http2ProtocolOptionsSchema) },
    }),
  };
}

export function isHttp2Only(draft: ClusterDraft): boolean {
  const chosen = draft.http?.upstreamProtocolOptions;
  return chosen?.case === "explicitHttpConfig" && chosen.value.protocolConfig.case === "http2ProtocolOptions";
}

/** Selects the protocol of the downstream connection, keeping HTTP/1.1 options. */
export function useDownstreamProtocol(draft: ClusterDraft): void {
  const options = httpOptions(draft);
  const chosen = options.upstreamProtocolOptions;
  const explicit = chosen.case === "explicitHttpConfig" ? chosen.value.protocolConfig : undefined;
  options.upstreamProtocolOptions = {
    case: "useDownstreamProtocolConfig",
    value: create(HttpProtocolOptions_UseDownstreamHttpConfigSchema, {
      httpProtocolOptions: explicit?.case === "httpProtocolOptions" ? explicit.value : {},
      http2ProtocolOptions: {},
    }),
  };
}

/**
 * Reports whether connections between proxies are upgraded to HTTP/2, by a policy or by the mesh for ports that declare
 * HTTP.
 */
export function upgradesToHttp2(
  q: QueryContext,
  protocol: Protocol,
  pool: ConnectionPoolSettings | undefined,
): boolean {
  const http = pool?.http;
  if (http !== undefined) {
    if (http.useClientProtocol) return false;
    if (http.h2UpgradePolicy === UpgradePolicy.UPGRADE) return true;
    if (http.h2UpgradePolicy === UpgradePolicy.DO_NOT_UPGRADE) return false;
  }
  return isHttp(protocol) && mesh(q).h2UpgradePolicy === MeshConfig_H2UpgradePolicy.UPGRADE;
}

/** Returns the HTTP protocol options of passthrough clusters. */
export function passthroughProtocolOptions(q: QueryContext): Any {
  return packAny(HttpProtocolOptionsSchema, {
    commonHttpProtocolOptions: { idleTimeout: { seconds: 300n } },
    upstreamProtocolOptions: {
      case: "useDownstreamProtocolConfig",
      value: {
        httpProtocolOptions: q.call(preservesHeaderCase) ? preserveCaseOptions() : {},
        http2ProtocolOptions: {},
      },
    },
  });
}

const preservesHeaderCase = query(
  "preservesHeaderCase",
  (q): boolean => proxyConfig(q, "proxyHeaders")?.preserveHttp1HeaderCase === true,
);

function preserveCaseOptions(): Http1ProtocolOptions {
  const formatter = { name: "preserve_case", typedConfig: packAny(PreserveCaseFormatterConfigSchema) };
  return create(Http1ProtocolOptionsSchema, {
    headerKeyFormat: { headerFormat: { case: "statefulFormatter", value: formatter } },
  });
}

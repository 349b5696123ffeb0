import { create } from "@bufbuild/protobuf";
import {
  Http2ProtocolOptionsSchema,
  HttpProtocolOptions_HeadersWithUnderscoresAction as EnvoyUnderscores,
  HttpProtocolOptionsSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/protocol";
import {
  type HttpConnectionManager,
  HttpConnectionManager_PathWithEscapedSlashesAction as EnvoySlashes,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import type { QueryContext } from "@istiod/incremental";
import {
  type ProxyConfig_ConnectionSettings as ConnectionSettings,
  ProxyConfig_ConnectionSettings_HeadersWithUnderscoresAction as Underscores,
  ProxyConfig_ConnectionSettings_PathWithEscapedSlashesAction as Slashes,
  ProxyConfig_ConnectionSettings_Profile as Profile,
} from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { mesh, proxyConfig, proxyType } from "@istiod/push-context";
import { duration } from "../../envoy/duration.js";

/**
 * Returns the client's settings for downstream connections, or else the mesh's. For a gateway with the EDGE profile,
 * unset fields have that profile's limits.
 */
export function connectionSettings(q: QueryContext): ConnectionSettings | undefined {
  const settings = proxyConfig(q, "connectionSettings") ?? mesh(q).defaultConfig?.connectionSettings;
  return settings?.profile === Profile.EDGE && q.ask(proxyType) === "router" ? withEdgeLimits(settings) : settings;
}

/** The limits that Envoy recommends for edge proxies. Source: pilot/pkg/networking/core/connection_settings.go. */
function withEdgeLimits(settings: ConnectionSettings): ConnectionSettings {
  return {
    ...settings,
    listenerPerConnectionBufferLimitBytes: settings.listenerPerConnectionBufferLimitBytes ?? 32_768,
    httpIdleTimeout: settings.httpIdleTimeout ?? duration(3_600_000),
    httpStreamIdleTimeout: settings.httpStreamIdleTimeout ?? duration(300_000),
    httpRequestTimeout: settings.httpRequestTimeout ?? duration(300_000),
    httpRequestHeadersTimeout: settings.httpRequestHeadersTimeout ?? duration(60_000),
    httpMaxConcurrentStreams: settings.httpMaxConcurrentStreams ?? 100,
    http2InitialStreamWindowSize: settings.http2InitialStreamWindowSize ?? 65_536,
    http2InitialConnectionWindowSize: settings.http2InitialConnectionWindowSize ?? 1_048_576,
    httpHeadersWithUnderscoresAction:
      settings.httpHeadersWithUnderscoresAction || Underscores.HEADERS_WITH_UNDERSCORES_REJECT_REQUEST,
    httpMergeSlashes: settings.httpMergeSlashes ?? true,
    httpPathWithEscapedSlashesAction: settings.httpPathWithEscapedSlashesAction || Slashes.UNESCAPE_AND_REDIRECT,
  };
}

/** Returns a size or count; undefined if it is negative, which means unset. */
export function nonNegative(value: number | undefined): number | undefined {
  return value === undefined || value < 0 ? undefined : value;
}

/** Applies the settings to a connection manager, overriding earlier ones. */
export function applyConnectionSettings(manager: HttpConnectionManager, settings: ConnectionSettings): void {
  if (settings.httpIdleTimeout ?? settings.httpMaxConnectionDuration ?? settings.httpMaxStreamDuration) {
    const common = (manager.commonHttpProtocolOptions ??= create(HttpProtocolOptionsSchema));
    if (settings.httpIdleTimeout) common.idleTimeout = settings.httpIdleTimeout;
    if (settings.httpMaxConnectionDuration) common.maxConnectionDuration = settings.httpMaxConnectionDuration;
    if (settings.httpMaxStreamDuration) common.maxStreamDuration = settings.httpMaxStreamDuration;
  }
  if (settings.httpStreamIdleTimeout) manager.streamIdleTimeout = settings.httpStreamIdleTimeout;
  if (settings.httpRequestTimeout) manager.requestTimeout = settings.httpRequestTimeout;
  if (settings.httpRequestHeadersTimeout) manager.requestHeadersTimeout = settings.httpRequestHeadersTimeout;
  if (settings.httpDrainTimeout) manager.drainTimeout = settings.httpDrainTimeout;

  if (
    (settings.httpMaxConcurrentStreams ??
      settings.http2InitialStreamWindowSize ??
      settings.http2InitialConnectionWindowSize) !== undefined
  ) {
    const http2 = (manager.http2ProtocolOptions ??= create(Http2ProtocolOptionsSchema));
    const [streams, streamWindow, connectionWindow] = [
      settings.httpMaxConcurrentStreams,
      settings.http2InitialStreamWindowSize,
      settings.http2InitialConnectionWindowSize,
    ].map(nonNegative);
    if (streams !== undefined) http2.maxConcurrentStreams = streams;
    if (streamWindow !== undefined) http2.initialStreamWindowSize = streamWindow;
    if (connectionWindow !== undefined) http2.initialConnectionWindowSize = connectionWindow;
  }
  if (settings.httpHeadersWithUnderscoresAction !== Underscores.HEADERS_WITH_UNDERSCORES_UNSPECIFIED) {
    (manager.commonHttpProtocolOptions ??= create(HttpProtocolOptionsSchema)).headersWithUnderscoresAction =
      underscores(settings.httpHeadersWithUnderscoresAction);
  }
  if (settings.httpMergeSlashes !== undefined) manager.mergeSlashes = settings.httpMergeSlashes;
  if (settings.httpPathWithEscapedSlashesAction !== Slashes.PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED) {
    manager.pathWithEscapedSlashesAction = slashes(settings.httpPathWithEscapedSlashesAction);
  }
}

function underscores(action: Underscores): EnvoyUnderscores {
  if (action === Underscores.HEADERS_WITH_UNDERSCORES_REJECT_REQUEST) return EnvoyUnderscores.REJECT_REQUEST;
  return action === Underscores.HEADERS_WITH_UNDERSCORES_DROP_HEADER
    ? EnvoyUnderscores.DROP_HEADER
    : EnvoyUnderscores.ALLOW;
}

function slashes(action: Slashes): EnvoySlashes {
  if (action === Slashes.REJECT_REQUEST) return EnvoySlashes.REJECT_REQUEST;
  if (action === Slashes.UNESCAPE_AND_REDIRECT) return EnvoySlashes.UNESCAPE_AND_REDIRECT;
  return action === Slashes.UNESCAPE_AND_FORWARD ? EnvoySlashes.UNESCAPE_AND_FORWARD : EnvoySlashes.KEEP_UNCHANGED;
}

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
  const set = proxyConfig(q, "connectionSettings") ?? mesh(q).defaultConfig?.connectionSettings;
  return set?.profile === Profile.EDGE && q.ask(proxyType) === "router" ? withEdgeLimits(set) : set;
}

/** The limits that Envoy recommends for edge proxies. Source: pilot/pkg/networking/core/connection_settings.go. */
function withEdgeLimits(set: ConnectionSettings): ConnectionSettings {
  return {
    ...set,
    listenerPerConnectionBufferLimitBytes: set.listenerPerConnectionBufferLimitBytes ?? 32_768,
    httpIdleTimeout: set.httpIdleTimeout ?? duration(3_600_000),
    httpStreamIdleTimeout: set.httpStreamIdleTimeout ?? duration(300_000),
    httpRequestTimeout: set.httpRequestTimeout ?? duration(300_000),
    httpRequestHeadersTimeout: set.httpRequestHeadersTimeout ?? duration(60_000),
    httpMaxConcurrentStreams: set.httpMaxConcurrentStreams ?? 100,
    http2InitialStreamWindowSize: set.http2InitialStreamWindowSize ?? 65_536,
    http2InitialConnectionWindowSize: set.http2InitialConnectionWindowSize ?? 1_048_576,
    httpHeadersWithUnderscoresAction:
      set.httpHeadersWithUnderscoresAction || Underscores.HEADERS_WITH_UNDERSCORES_REJECT_REQUEST,
    httpMergeSlashes: set.httpMergeSlashes ?? true,
    httpPathWithEscapedSlashesAction: set.httpPathWithEscapedSlashesAction || Slashes.UNESCAPE_AND_REDIRECT,
  };
}

/** Returns a size or count; undefined if it is negative, which means unset. */
export function nonNegative(value: number | undefined): number | undefined {
  return value === undefined || value < 0 ? undefined : value;
}

/** Applies the settings to a connection manager, overriding earlier ones. */
export function applyConnectionSettings(manager: HttpConnectionManager, set: ConnectionSettings): void {
  if (set.httpIdleTimeout ?? set.httpMaxConnectionDuration ?? set.httpMaxStreamDuration) {
    const common = (manager.commonHttpProtocolOptions ??= create(HttpProtocolOptionsSchema));
    if (set.httpIdleTimeout) common.idleTimeout = set.httpIdleTimeout;
    if (set.httpMaxConnectionDuration) common.maxConnectionDuration = set.httpMaxConnectionDuration;
    if (set.httpMaxStreamDuration) common.maxStreamDuration = set.httpMaxStreamDuration;
  }
  if (set.httpStreamIdleTimeout) manager.streamIdleTimeout = set.httpStreamIdleTimeout;
  if (set.httpRequestTimeout) manager.requestTimeout = set.httpRequestTimeout;
  if (set.httpRequestHeadersTimeout) manager.requestHeadersTimeout = set.httpRequestHeadersTimeout;
  if (set.httpDrainTimeout) manager.drainTimeout = set.httpDrainTimeout;

  if (
    (set.httpMaxConcurrentStreams ?? set.http2InitialStreamWindowSize ?? set.http2InitialConnectionWindowSize) !==
    undefined
  ) {
    const http2 = (manager.http2ProtocolOptions ??= create(Http2ProtocolOptionsSchema));
    const [streams, streamWindow, connectionWindow] = [
      set.httpMaxConcurrentStreams,
      set.http2InitialStreamWindowSize,
      set.http2InitialConnectionWindowSize,
    ].map(nonNegative);
    if (streams !== undefined) http2.maxConcurrentStreams = streams;
    if (streamWindow !== undefined) http2.initialStreamWindowSize = streamWindow;
    if (connectionWindow !== undefined) http2.initialConnectionWindowSize = connectionWindow;
  }
  if (set.httpHeadersWithUnderscoresAction !== Underscores.HEADERS_WITH_UNDERSCORES_UNSPECIFIED) {
    (manager.commonHttpProtocolOptions ??= create(HttpProtocolOptionsSchema)).headersWithUnderscoresAction =
      underscores(set.httpHeadersWithUnderscoresAction);
  }
  if (set.httpMergeSlashes !== undefined) manager.mergeSlashes = set.httpMergeSlashes;
  if (set.httpPathWithEscapedSlashesAction !== Slashes.PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED) {
    manager.pathWithEscapedSlashesAction = slashes(set.httpPathWithEscapedSlashesAction);
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

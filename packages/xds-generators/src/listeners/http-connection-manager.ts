import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { meshNetworks, meshNetworksKey } from "@istiod/config-ingestion";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { HttpProtocolOptionsSchema, Http1ProtocolOptionsSchema } from "@istiod/envoy-api/envoy/config/core/v3/protocol";
import type { RouteConfiguration } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  type HttpConnectionManager,
  HttpConnectionManager_InternalAddressConfigSchema as InternalAddressConfigSchema,
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes,
  HttpConnectionManager_UpgradeConfigSchema as UpgradeConfigSchema,
  HttpConnectionManagerSchema,
  type RequestIDExtension,
  RequestIDExtensionSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { PreserveCaseFormatterConfigSchema } from "@istiod/envoy-api/envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case";
import { UuidRequestIdConfigSchema } from "@istiod/envoy-api/envoy/extensions/request_id/uuid/v3/uuid";
import { type QueryContext, query } from "@istiod/incremental";
import { MeshConfig_ProxyPathNormalization_NormalizationType as Normalization } from "@istiod/istio-api/mesh/v1alpha1/config";
import { askMetadata, features, type ListenerClass, mesh, proxyConfig } from "@istiod/push-context";
import { any } from "../envoy/any.js";
import { cidrOf } from "../envoy/cidr.js";
import { duration } from "../envoy/duration.js";
import { joinEncoded } from "../envoy/encode.js";
import { compareIpPrefixes, parseIpPrefix } from "../envoy/ip-prefix.js";
import { accessLogs } from "../telemetry/access-log.js";
import { httpTracing } from "../telemetry/tracing.js";
import { applyConnectionSettings, connectionSettings } from "./connection-settings.js";
import { goDuration } from "./go-duration.js";
import { type Filter, type HttpFilter, networkFilter } from "./named-filter.js";

/** What managers of one class have in common. */
export interface ManagerOptions {
  readonly listener: ListenerClass;
  readonly useRemoteAddress: boolean;
  readonly filters: readonly HttpFilter[];
  /** What the class adds of its own; `httpProtocolOptions` may be added to. */
  readonly own: MessageInitShape<typeof HttpConnectionManagerSchema>;
}

/** Where a manager finds its routes. */
export type RouteSource = { readonly rds: string } | { readonly inline: RouteConfiguration };

/**
 * The part of a connection manager that depends neither on its listener nor, mostly, on the workload, encoded. {@link managerFilter}
 * adds the rest: protobuf reads the parts of a message one after the other, so what many have in common is encoded once.
 */
export function encodedManager(q: QueryContext, { listener, useRemoteAddress, filters, own }: ManagerOptions): Uint8Array {
  const internal = useRemoteAddress || features.hcmInternalNetworks(q) ? q.call(internalAddresses) : undefined;
  const idleTimeout = goDuration(askMetadata(q, "IDLE_TIMEOUT"));
  const manager = create(HttpConnectionManagerSchema, own);
  manager.appendXForwardedPort = proxyConfig(q, "proxyHeaders")?.xForwardedPort?.enabled === true;
  manager.useRemoteAddress = useRemoteAddress;
  manager.upgradeConfigs = [create(UpgradeConfigSchema, { upgradeType: "websocket" })];
  manager.streamIdleTimeout = duration(0);
  manager.accessLog = [...accessLogs(q, listener, "http")];
  manager.proxy100Continue = features.proxy100Continue(q);
  if (internal !== undefined) manager.internalAddressConfig = internal;
  if (idleTimeout !== undefined) manager.commonHttpProtocolOptions = create(HttpProtocolOptionsSchema, { idleTimeout });
  normalizePaths(q, manager);
  preserveHeaderCase(q, manager);
  const settings = connectionSettings(q);
  if (settings !== undefined) applyConnectionSettings(manager, settings);
  manager.httpFilters = [...filters];
  return toBinary(HttpConnectionManagerSchema, manager);
}

/** The filter with a whole connection manager: what it has in common with others, how it traces, its name in statistics and its routes. */
export function managerFilter(q: QueryContext, listener: ListenerClass, common: Uint8Array, statPrefix: string, routes: RouteSource): Filter {
  const rest = create(HttpConnectionManagerSchema, {
    statPrefix,
    routeSpecifier:
      "inline" in routes
        ? { case: "routeConfig", value: routes.inline }
        : {
            case: "rds",
            value: {
              configSource: { configSourceSpecifier: { case: "ads", value: {} }, initialFetchTimeout: duration(0), resourceApiVersion: ApiVersion.V3 },
              routeConfigName: routes.rds,
            },
          },
  });
  const value = joinEncoded([common, q.call(encodedTracing, listener), toBinary(HttpConnectionManagerSchema, rest)]);
  return networkFilter("envoy.filters.network.http_connection_manager", create(AnySchema, { typeUrl: managerTypeUrl, value }));
}

const managerTypeUrl = `type.googleapis.com/${HttpConnectionManagerSchema.typeName}`;

/** The part of a connection manager that says how requests are traced: it names the workload. */
const encodedTracing = query("encodedTracing", (q, listener: ListenerClass): Uint8Array => {
  const { tracing, requestIdSamples } = q.call(httpTracing, listener);
  const requestIdExtension = requestIdSamples ? sampledByRequestId : notSampledByRequestId;
  return toBinary(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, { requestIdExtension, ...(tracing && { tracing }) }));
});

/** HTTP/1.0 is taken where istiod or the proxy says so. */
export function acceptsHttp10(q: QueryContext): boolean {
  return features.http10(q) || askMetadata(q, "HTTP10") === "1";
}

const requestIds = (samples: boolean): RequestIDExtension =>
  create(RequestIDExtensionSchema, { typedConfig: any(UuidRequestIdConfigSchema, { useRequestIdForTraceSampling: samples }) });
const sampledByRequestId = requestIds(true);
const notSampledByRequestId = requestIds(false);

function normalizePaths(q: QueryContext, manager: HttpConnectionManager): void {
  const normalization = mesh(q).pathNormalization?.normalization ?? Normalization.DEFAULT;
  const merges = normalization === Normalization.MERGE_SLASHES || normalization === Normalization.DECODE_AND_MERGE_SLASHES;
  manager.normalizePath = normalization !== Normalization.NONE;
  manager.mergeSlashes = merges;
  manager.pathWithEscapedSlashesAction =
    normalization === Normalization.DECODE_AND_MERGE_SLASHES ? EscapedSlashes.UNESCAPE_AND_FORWARD : EscapedSlashes.KEEP_UNCHANGED;
}

function preserveHeaderCase(q: QueryContext, manager: HttpConnectionManager): void {
  if (proxyConfig(q, "proxyHeaders")?.preserveHttp1HeaderCase !== true) return;
  const formatter = { name: "preserve_case", typedConfig: any(PreserveCaseFormatterConfigSchema) };
  const { headerKeyFormat } = create(Http1ProtocolOptionsSchema, {
    headerKeyFormat: { headerFormat: { case: "statefulFormatter", value: formatter } },
  });
  if (headerKeyFormat) (manager.httpProtocolOptions ??= create(Http1ProtocolOptionsSchema)).headerKeyFormat = headerKeyFormat;
}

/** The ranges that the mesh's networks name, whose requests keep Envoy's internal headers. */
const internalAddresses = query("internalAddresses", (q) => {
  const networks = q.read(meshNetworks, meshNetworksKey)?.networks ?? {};
  const ranges = Object.values(networks)
    .flatMap(({ endpoints }) => endpoints)
    .flatMap(({ ne }) => (ne.case === "fromCidr" ? (parseIpPrefix(ne.value) ?? []) : []))
    .sort(compareIpPrefixes);
  return ranges.length === 0 ? undefined : create(InternalAddressConfigSchema, { cidrRanges: ranges.map(cidrOf) });
});

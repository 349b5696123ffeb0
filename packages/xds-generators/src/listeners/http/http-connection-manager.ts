import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { meshNetworks, meshNetworksKey } from "@istiod/config-schema";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { Http1ProtocolOptionsSchema, HttpProtocolOptionsSchema } from "@istiod/envoy-api/envoy/config/core/v3/protocol";
import { FilterChainSchema, FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  type HttpConnectionManager,
  HttpConnectionManager_InternalAddressConfigSchema as InternalAddressConfigSchema,
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes,
  HttpConnectionManager_UpgradeConfigSchema as UpgradeConfigSchema,
  HttpConnectionManagerSchema,
  RdsSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { PreserveCaseFormatterConfigSchema } from "@istiod/envoy-api/envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case";
import { query, type QueryContext } from "@istiod/incremental";
import { MeshConfig_ProxyPathNormalization_NormalizationType as Normalization } from "@istiod/istio-api/mesh/v1alpha1/config";
import { encodeMessageField, encodeStringField, joinEncoded } from "@istiod/protobuf-wire";
import { askMetadata, features, type ListenerClass, mesh, proxyConfig } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import { toCidrRange } from "../../envoy/cidr.js";
import { duration } from "../../envoy/duration.js";
import { type Filter, type HttpFilter, networkFilter } from "../../envoy/filters.js";
import { compareIpPrefixes, parseIpPrefix } from "../../envoy/ip-prefix.js";
import { accessLogs } from "../../telemetry/access-log.js";
import type { PeerIdentitySource } from "../../security/authorization/principal.js";
import { httpMetricsLogs } from "../../telemetry/standard-metrics.js";
import { encodedTracing } from "../../telemetry/tracing.js";
import { nodeIdleTimeout } from "../connection-limits.js";
import { applyConnectionSettings, connectionSettings } from "./connection-settings.js";

/** Options shared by the connection managers of one listener class. */
interface ManagerOptions {
  readonly listener: ListenerClass;
  /** The source of the peer's identity in metrics. Default: its certificate. */
  readonly identity?: PeerIdentitySource;
  readonly useRemoteAddress: boolean;
  readonly filters: readonly HttpFilter[];
  /** Settings of the class. `httpProtocolOptions` may be extended. */
  readonly settings: MessageInitShape<typeof HttpConnectionManagerSchema>;
}

/** The routes of a connection manager: an RDS name, or an encoded inline route configuration. */
type RouteSource = { readonly rds: string } | { readonly inline: Uint8Array };

/**
 * Encodes the part of a connection manager that depends neither on its listener nor, mostly, on the workload. {@link
 * withRoutes} and {@link encodeManagerFilter} append the rest, so that the shared part is encoded once.
 */
export function encodeManager(
  q: QueryContext,
  { listener, identity = "certificate", useRemoteAddress, filters, settings }: ManagerOptions,
): Uint8Array {
  const internal = useRemoteAddress || features.hcmInternalNetworks(q) ? q.call(internalAddresses) : undefined;
  const idleTimeout = nodeIdleTimeout(q);
  const manager = create(HttpConnectionManagerSchema, settings);
  manager.appendXForwardedPort = proxyConfig(q, "proxyHeaders")?.xForwardedPort?.enabled === true;
  manager.useRemoteAddress = useRemoteAddress;
  manager.upgradeConfigs = [create(UpgradeConfigSchema, { upgradeType: "websocket" })];
  manager.streamIdleTimeout = duration(0);
  manager.accessLog = [...accessLogs(q, listener, "http"), ...q.call(httpMetricsLogs, { listener, identity })];
  manager.proxy100Continue = features.proxy100Continue(q);
  if (internal !== undefined) manager.internalAddressConfig = internal;
  if (idleTimeout !== undefined) manager.commonHttpProtocolOptions = create(HttpProtocolOptionsSchema, { idleTimeout });
  normalizePaths(q, manager);
  preserveHeaderCase(q, manager);
  const limits = connectionSettings(q);
  if (limits !== undefined) applyConnectionSettings(manager, limits);
  manager.httpFilters = [...filters];
  return toBinary(HttpConnectionManagerSchema, manager);
}

/** Appends the stat prefix and the routes to an encoded connection manager. Only tracing is still missing. */
export function withRoutes(common: Uint8Array, statPrefix: string, routes: RouteSource): Uint8Array {
  const { statPrefix: name, routeConfig, rds } = HttpConnectionManagerSchema.field;
  const source =
    "inline" in routes
      ? encodeMessageField(routeConfig.number, [routes.inline])
      : encodeMessageField(rds.number, [
          encodedAdsSource,
          encodeStringField(RdsSchema.field.routeConfigName.number, routes.rds),
        ]);
  return joinEncoded([common, encodeStringField(name.number, statPrefix), source]);
}

const encodedAdsSource = toBinary(
  RdsSchema,
  create(RdsSchema, {
    configSource: {
      configSourceSpecifier: { case: "ads", value: {} },
      initialFetchTimeout: duration(0),
      resourceApiVersion: ApiVersion.V3,
    },
  }),
);

/** Encodes the filter of a connection manager, with its tracing, as an element of a filter chain's filters. */
export function encodeManagerFilter(manager: Uint8Array, tracing: Uint8Array): Uint8Array {
  return encodeMessageField(FilterChainSchema.field.filters.number, [
    filterName,
    encodeMessageField(FilterSchema.field.typedConfig.number, [
      anyType,
      encodeMessageField(AnySchema.field.value.number, [manager, tracing]),
    ]),
  ]);
}

/** Returns the same filter as a message. */
export function managerFilter(
  q: QueryContext,
  listener: ListenerClass,
  common: Uint8Array,
  statPrefix: string,
  routes: RouteSource,
): Filter {
  const value = joinEncoded([withRoutes(common, statPrefix, routes), q.call(encodedTracing, listener)]);
  return networkFilter(managerName, create(AnySchema, { typeUrl: managerTypeUrl, value }));
}

export const managerName = "envoy.filters.network.http_connection_manager";
const managerTypeUrl = `type.googleapis.com/${HttpConnectionManagerSchema.typeName}`;
const filterName = encodeStringField(FilterSchema.field.name.number, managerName);
const anyType = encodeStringField(AnySchema.field.typeUrl.number, managerTypeUrl);

/** Reports whether HTTP/1.0 is accepted, by istiod's settings or by the proxy's. */
export function acceptsHttp10(q: QueryContext): boolean {
  return features.http10(q) || askMetadata(q, "HTTP10") === "1";
}

function normalizePaths(q: QueryContext, manager: HttpConnectionManager): void {
  const normalization = mesh(q).pathNormalization?.normalization ?? Normalization.DEFAULT;
  const merges =
    normalization === Normalization.MERGE_SLASHES || normalization === Normalization.DECODE_AND_MERGE_SLASHES;
  manager.normalizePath = normalization !== Normalization.NONE;
  manager.mergeSlashes = merges;
  manager.pathWithEscapedSlashesAction =
    normalization === Normalization.DECODE_AND_MERGE_SLASHES
      ? EscapedSlashes.UNESCAPE_AND_FORWARD
      : EscapedSlashes.KEEP_UNCHANGED;
}

function preserveHeaderCase(q: QueryContext, manager: HttpConnectionManager): void {
  if (proxyConfig(q, "proxyHeaders")?.preserveHttp1HeaderCase !== true) return;
  const formatter = { name: "preserve_case", typedConfig: packAny(PreserveCaseFormatterConfigSchema) };
  const { headerKeyFormat } = create(Http1ProtocolOptionsSchema, {
    headerKeyFormat: { headerFormat: { case: "statefulFormatter", value: formatter } },
  });
  if (headerKeyFormat)
    (manager.httpProtocolOptions ??= create(Http1ProtocolOptionsSchema)).headerKeyFormat = headerKeyFormat;
}

/** The CIDRs of the mesh networks, whose requests keep Envoy's internal headers. */
const internalAddresses = query("internalAddresses", (q) => {
  const networks = q.read(meshNetworks, meshNetworksKey)?.networks ?? {};
  const ranges = Object.values(networks)
    .flatMap(({ endpoints }) => endpoints)
    .flatMap(({ ne }) => (ne.case === "fromCidr" ? (parseIpPrefix(ne.value) ?? []) : []))
    .sort(compareIpPrefixes);
  return ranges.length === 0 ? undefined : create(InternalAddressConfigSchema, { cidrRanges: ranges.map(toCidrRange) });
});

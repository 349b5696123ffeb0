import type { Duration } from "@bufbuild/protobuf/wkt";
import type {
  ProxyConfig,
  ProxyConfig_ConnectionSettings as ConnectionSettings,
} from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { statsNameFault, statsRegexFault, statsTagFault } from "@istiod/settings";
import { checkPort, checkServerAddress } from "../validation/network/addresses.js";
import { checkClientTls } from "../validation/traffic/client-tls.js";
import { checkDuration, formatDuration, nanoseconds } from "../validation/durations.js";
import { checkHeaderName } from "../validation/format-string/header-value.js";
import { each, type Place } from "../validation/place.js";

const millisecond = 1_000_000n;
const second = 1_000n * millisecond;

/** Largest number that an argument of Envoy's command line may have. */
const argumentLimit = 2n ** 32n - 1n;

/** Validates the mesh's proxy configuration with defaults applied, as Istio's `ValidateMeshConfigProxyConfig` does. */
export function checkProxyConfig(config: ProxyConfig, place: Place): void {
  for (const field of ["configPath", "binaryPath", "discoveryAddress"] as const) {
    if (config[field] === "") place.at(field).error("is empty, expected a value");
  }
  if (config.clusterName.case === undefined)
    place.at("serviceCluster").error("is missing, expected it or tracingServiceName");
  else if (config.clusterName.case === "serviceCluster" && config.clusterName.value === "")
    place.at("serviceCluster").error("is empty, expected a name");
  checkDuration(config.drainDuration, place.at("drainDuration"));
  if (nanoseconds(config.drainDuration) % 1_000_000_000n !== 0n)
    place.at("drainDuration").error(`is ${formatDuration(config.drainDuration)}, expected whole seconds`);
  if (nanoseconds(config.drainDuration) > argumentLimit * second)
    place.at("drainDuration").error(`is ${formatDuration(config.drainDuration)}, expected at most ${argumentLimit}s`);
  const flush = nanoseconds(config.fileFlushInterval);
  if (flush < 0n || flush % millisecond !== 0n || flush > argumentLimit * millisecond)
    place
      .at("fileFlushInterval")
      .error(`is ${formatDuration(config.fileFlushInterval)}, expected whole milliseconds, at most ${argumentLimit}`);
  for (const field of ["discoveryAddress", "statsdUdpAddress", "envoyMetricsServiceAddress"] as const) {
    if (config[field] !== "") checkServerAddress(config[field], place.at(field));
  }
  for (const field of ["envoyMetricsService", "envoyAccessLogService"] as const) {
    const address = config[field]?.address ?? "";
    if (address !== "") checkServerAddress(address, place.at(field, "address"));
  }
  if (config.envoyMetricsServiceAddress !== "")
    place.at("envoyMetricsServiceAddress").warning("is deprecated, expected envoyMetricsService");
  if ("ISTIO_META_DNS_AUTO_ALLOCATE" in config.proxyMetadata)
    place
      .at("proxyMetadata", "ISTIO_META_DNS_AUTO_ALLOCATE")
      .warning("is deprecated: addresses are allocated without it");
  if ((config.concurrency ?? 0) < 0)
    place.at("concurrency").warning(`is ${config.concurrency}, which is ignored, expected 0 or more`);
  checkStats(config, place);
  checkTracing(config, place.at("tracing"));
  checkPort(config.proxyAdminPort, place.at("proxyAdminPort"));
  checkPort(config.statusPort, place.at("statusPort"));
  const provider = config.privateKeyProvider?.provider;
  if (config.privateKeyProvider !== undefined && provider?.case === undefined)
    place.at("privateKeyProvider").error("is empty, expected cryptomb or qat");
  if (provider?.case !== undefined && nanoseconds(provider.value.pollDelay) === 0n)
    place.at("privateKeyProvider", provider.case, "pollDelay").error("is 0 or missing, expected a duration");
  if (config.connectionSettings !== undefined)
    checkConnectionSettings(config.connectionSettings, place.at("connectionSettings"));
}

/** Checks settings of statistics, with which Envoy would exit. */
function checkStats({ proxyStatsMatcher: matcher, extraStatTags }: ProxyConfig, place: Place): void {
  const check = (faultOf: (text: string) => string | undefined) => (text: string, at: Place) => {
    const fault = faultOf(text);
    if (fault !== undefined) at.error(fault);
  };
  const at = place.at("proxyStatsMatcher");
  each(matcher?.inclusionPrefixes ?? [], at.at("inclusionPrefixes"), check(statsNameFault));
  each(matcher?.inclusionSuffixes ?? [], at.at("inclusionSuffixes"), check(statsNameFault));
  each(matcher?.inclusionRegexps ?? [], at.at("inclusionRegexps"), check(statsRegexFault));
  each(extraStatTags, place.at("extraStatTags"), check(statsTagFault));
}

function checkTracing(config: ProxyConfig, place: Place): void {
  const { tracing } = config;
  if (tracing === undefined) return;
  const { tracer, sampling } = tracing;
  if (sampling < 0 || sampling > 100)
    place.at("sampling").warning(`is ${sampling}, expected a percentage from 0 to 100; the default is used`);
  for (const [tag, { type }] of Object.entries(tracing.customTags)) {
    const at = place.at("customTags", tag);
    if (tag === "") at.error("has an empty name, expected the name of a tag");
    if (type.case === undefined) at.warning("has no value, expected literal, environment or header");
    else if ((type.case === "literal" ? type.value.value : type.value.name) === "")
      at.at(type.case).error("is empty, expected a value");
    else if (type.case === "header") checkHeaderName(type.value.name, at.at("header", "name"));
  }
  switch (tracer.case) {
    case "lightstep":
      checkServerAddress(tracer.value.address, place.at("lightstep", "address"));
      if (tracer.value.accessToken === "") place.at("lightstep", "accessToken").error("is missing, expected a token");
      break;
    case "zipkin":
    case "datadog":
      checkServerAddress(tracer.value.address.replace("$(HOST_IP)", "127.0.0.1"), place.at(tracer.case, "address"));
      break;
    default:
  }
  checkClientTls(tracing.tlsSettings, "", place.at("tlsSettings"));
}

function checkConnectionSettings(settings: ConnectionSettings, place: Place): void {
  const least: readonly [keyof ConnectionSettings, number][] = [
    ["listenerPerConnectionBufferLimitBytes", 0],
    ["clusterPerConnectionBufferLimitBytes", 0],
    ["httpMaxConcurrentStreams", 1],
    ["http2InitialStreamWindowSize", 65535],
    ["http2InitialConnectionWindowSize", 65535],
    ["listenerConnectionLimit", 1],
    ["globalDownstreamConnectionLimit", 1],
  ];
  for (const [field, minimum] of least) {
    const value = settings[field];
    if (typeof value === "number" && value < minimum) place.at(field).error(`is ${value}, expected ${minimum} or more`);
  }
  for (const field of [
    "httpIdleTimeout",
    "httpMaxConnectionDuration",
    "httpDrainTimeout",
    "httpRequestTimeout",
    "httpRequestHeadersTimeout",
    "httpStreamIdleTimeout",
    "httpMaxStreamDuration",
  ] as const) {
    const value: Duration | undefined = settings[field];
    if (nanoseconds(value) < 0n) place.at(field).error(`is ${formatDuration(value)}, expected 0 or more`);
  }
}

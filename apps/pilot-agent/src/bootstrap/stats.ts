import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { parseDurationMs } from "@istiod/settings";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { object } from "./json.js";

/** Statistics that are always included: readiness checks and draining read them. */
const REQUIRED_PREFIXES = ["cluster_manager", "listener_manager", "server", "cluster.xds-grpc", "wasm"];
const REQUIRED_SUFFIXES = ["rbac.allowed", "rbac.denied", "shadow_allowed", "shadow_denied"];
const CONNECTIONS_SUFFIX = "downstream_cx_active";
const REQUIRED_REGEXPS = [String.raw`vhost\..*\.route\..*`];

const ANNOTATIONS = {
  prefixes: "sidecar.istio.io/statsInclusionPrefixes",
  suffixes: "sidecar.istio.io/statsInclusionSuffixes",
  regexps: "sidecar.istio.io/statsInclusionRegexps",
  tags: "sidecar.istio.io/extraStatTags",
  buckets: "sidecar.istio.io/statsHistogramBuckets",
  flush: "sidecar.istio.io/statsFlushInterval",
  eviction: "sidecar.istio.io/statsEvictionInterval",
} as const;

const tag = (name: string, regex: string): JsonObject => ({ tag_name: name, regex });

/** Rules that extract tags from the names of statistics. Dashboards rely on the tag names. */
const TAGS_BEFORE: readonly JsonObject[] = [
  tag("cluster_name", String.raw`^cluster(\.(.+);)`),
  tag("http_conn_manager_prefix", String.raw`^http\.(((?:[_.[:digit:]\w]*|[_\[\]aAbBcCdDeEfF[:digit:]\w\:]*));\.)`),
  tag("thread_name", String.raw`^server(\.(.+))\.watchdog`),
  tag("tcp_prefix", String.raw`^tcp\.((.*?)\.)\w+?$`),
  tag("response_code", String.raw`_rq(_(\d{3}))$`),
  tag("response_code_class", String.raw`_rq(_(\dxx))$`),
  tag(
    "http_conn_manager_listener_prefix",
    String.raw`^listener(?=\.).*?\.http\.(((?:[_.[:digit:]]*|[_\[\]aAbBcCdDeEfF[:digit:]]*))\.)`,
  ),
  tag("listener_address", String.raw`^listener\.(((?:[_.[:digit:]]*|[_\[\]aAbBcCdDeEfF[:digit:]]*))\.)`),
  tag("mongo_prefix", String.raw`^mongo\.(.+?)\.(collection|cmd|cx_|op_|delays_|decoding_)(.*?)$`),
];
const TAGS_AFTER: readonly JsonObject[] = [
  tag("cache", String.raw`(cache\.(.+?)\.)`),
  tag("component", String.raw`(component\.(.+?)\.)`),
  tag("tag", String.raw`(tag\.(.+?);\.)`),
  tag("wasm_filter", String.raw`(wasm_filter\.(.+?)\.)`),
  tag("authz_enforce_result", String.raw`rbac(\.(allowed|denied))`),
  tag("authz_dry_run_action", String.raw`(\.istio_dry_run_(allow|deny)_)`),
  tag("authz_dry_run_result", String.raw`(\.shadow_(allowed|denied))`),
];

/** Builds Envoy's stats configuration: inclusion rules, tags and histogram buckets. */
export function statsConfig(inputs: BootstrapInputs, metadataDiscovery: boolean): JsonObject {
  const extra = extraTags(inputs).map((name) => tag(name, String.raw`(${name}=\.=(.*?);\.;)`));
  return object({
    use_all_default_tags: false,
    stats_tags: [...TAGS_BEFORE, ...extra, ...TAGS_AFTER],
    histogram_bucket_settings: histogramBuckets(inputs),
    stats_matcher: { inclusion_list: { patterns: patterns(inputs, metadataDiscovery) } },
  });
}

function patterns(inputs: BootstrapInputs, metadataDiscovery: boolean): JsonValue[] {
  const matcher = inputs.proxyConfig.proxyStatsMatcher;
  const suffixes = inputs.exitOnZeroConnections ? [...REQUIRED_SUFFIXES, CONNECTIONS_SUFFIX] : REQUIRED_SUFFIXES;
  return [
    { prefix: "reporter=" },
    ...(metadataDiscovery ? [{ prefix: "workload_discovery" }] : []),
    ...included(inputs, ANNOTATIONS.prefixes, matcher?.inclusionPrefixes, REQUIRED_PREFIXES).map((prefix) => ({
      prefix,
    })),
    ...included(inputs, ANNOTATIONS.suffixes, matcher?.inclusionSuffixes, suffixes).map((suffix) => ({ suffix })),
    ...included(inputs, ANNOTATIONS.regexps, matcher?.inclusionRegexps, REQUIRED_REGEXPS).map((regex) => ({
      safe_regex: { regex },
    })),
    { prefix: "component" },
    { prefix: "istio" },
  ];
}

/**
 * Returns the names to include: those of the annotation, else of the proxy configuration, and the required ones.
 * `{pod_ip}` expands to each of the workload's addresses.
 */
function included(
  inputs: BootstrapInputs,
  annotation: string,
  configured: readonly string[] | undefined,
  required: readonly string[],
): string[] {
  const given = inputs.node.annotations[annotation];
  const names = [...(given ? given.split(",") : (configured ?? [])), ...required];
  const addresses = [...new Set(inputs.addresses)];
  return names.flatMap((name) =>
    name.includes("{pod_ip}") ? addresses.map((address) => name.replaceAll("{pod_ip}", address)) : [name],
  );
}

function extraTags({ proxyConfig, node }: BootstrapInputs): string[] {
  const annotated = (node.annotations[ANNOTATIONS.tags] ?? "").split(",");
  return [...new Set([...proxyConfig.extraStatTags, ...annotated].filter((name) => name !== ""))];
}

function histogramBuckets({ node, warn }: BootstrapInputs): JsonValue | undefined {
  const given = node.annotations[ANNOTATIONS.buckets];
  if (given === undefined) return undefined;
  try {
    const byPrefix = JSON.parse(given) as Record<string, number[]>;
    const prefixes = Object.keys(byPrefix).sort();
    if (!prefixes.every((prefix) => Array.isArray(byPrefix[prefix]) && byPrefix[prefix].every(Number.isFinite)))
      throw new Error("must be lists of numbers");
    return prefixes.length === 0
      ? undefined
      : prefixes.map((prefix) => ({ match: { prefix }, buckets: byPrefix[prefix] ?? [] }));
  } catch (error) {
    warn?.(`annotation ${ANNOTATIONS.buckets}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Builds the flush and eviction intervals of the annotations. Eviction must be a multiple of the flush interval. */
export function statsIntervals({ node, warn }: BootstrapInputs): {
  stats_flush_interval?: string;
  stats_eviction_interval?: string;
} {
  const intervals: { stats_flush_interval?: string; stats_eviction_interval?: string } = {};
  const read = (annotation: string): number | undefined => {
    const given = node.annotations[annotation];
    if (given === undefined) return undefined;
    const milliseconds = parseDurationMs(given);
    if (milliseconds === undefined) warn?.(`annotation ${annotation}: ${JSON.stringify(given)} must be a duration`);
    return milliseconds;
  };
  const flush = read(ANNOTATIONS.flush);
  if (flush !== undefined) intervals.stats_flush_interval = `${flush / 1000}s`;
  const eviction = read(ANNOTATIONS.eviction);
  if (eviction !== undefined && eviction % (flush ?? 5000) !== 0)
    warn?.(`annotation ${ANNOTATIONS.eviction}: must be a multiple of the flush interval`);
  else if (eviction !== undefined) intervals.stats_eviction_interval = `${Math.floor(eviction / 1000)}s`;
  return intervals;
}

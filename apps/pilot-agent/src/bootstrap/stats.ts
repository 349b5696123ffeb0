import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  parseGoDuration,
  protobufDuration,
  readHistogramBuckets,
  statsAnnotationFaults,
  statsAnnotations as ANNOTATIONS,
  statsNameFault,
  statsRegexFault,
  statsTagFault,
} from "@istiod/settings";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { object } from "./json.js";

/** Statistics that are always included: readiness checks and draining read them. */
const REQUIRED_PREFIXES = ["cluster_manager", "listener_manager", "server", "cluster.xds-grpc", "wasm"];
const REQUIRED_SUFFIXES = ["rbac.allowed", "rbac.denied", "shadow_allowed", "shadow_denied"];
const CONNECTIONS_SUFFIX = "downstream_cx_active";
const REQUIRED_REGEXPS = [String.raw`vhost\..*\.route\..*`];

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
  const names = (annotation: string, field: string, configured: readonly string[] = []): Named =>
    given(inputs, annotation, { name: `proxyStatsMatcher.${field}`, values: configured });
  const prefixes = names(ANNOTATIONS.prefixes, "inclusionPrefixes", matcher?.inclusionPrefixes);
  const ends = names(ANNOTATIONS.suffixes, "inclusionSuffixes", matcher?.inclusionSuffixes);
  const regexps = names(ANNOTATIONS.regexps, "inclusionRegexps", matcher?.inclusionRegexps);
  return [
    { prefix: "reporter=" },
    ...(metadataDiscovery ? [{ prefix: "workload_discovery" }] : []),
    ...included(inputs, prefixes, statsNameFault, REQUIRED_PREFIXES).map((prefix) => ({ prefix })),
    ...included(inputs, ends, statsNameFault, suffixes).map((suffix) => ({ suffix })),
    ...included(inputs, regexps, statsRegexFault, REQUIRED_REGEXPS).map((regex) => ({ safe_regex: { regex } })),
    { prefix: "component" },
    { prefix: "istio" },
  ];
}

/** Values with the annotation or field that they are from. */
interface Named {
  readonly name: string;
  readonly values: readonly string[];
}

/** Returns the elements of an annotation, else those of the proxy configuration. */
function given({ node }: BootstrapInputs, annotation: string, configured: Named): Named {
  const text = node.annotations[annotation];
  return text ? { name: `annotation ${annotation}`, values: text.split(",") } : configured;
}

/** Returns the values without fault. The others, with which Envoy would exit, are left out with a warning. */
function sound(
  { name, values }: Named,
  faultOf: (value: string) => string | undefined,
  inputs: BootstrapInputs,
): string[] {
  return values.filter((value) => {
    const fault = faultOf(value);
    if (fault !== undefined) inputs.warn?.(`${name}: ${fault}; leaving it out`);
    return fault === undefined;
  });
}

/** Returns the names to include: the given ones and the required ones. `{pod_ip}` expands to each of the addresses. */
function included(
  inputs: BootstrapInputs,
  names: Named,
  faultOf: (value: string) => string | undefined,
  required: readonly string[],
): string[] {
  const addresses = [...new Set(inputs.addresses)];
  return [...sound(names, faultOf, inputs), ...required].flatMap((name) =>
    name.includes("{pod_ip}") ? addresses.map((address) => name.replaceAll("{pod_ip}", address)) : [name],
  );
}

function extraTags(inputs: BootstrapInputs): string[] {
  const { proxyConfig, node } = inputs;
  const annotated = (node.annotations[ANNOTATIONS.tags] ?? "").split(",").filter((name) => name !== "");
  return [
    ...new Set([
      ...sound({ name: "extraStatTags", values: proxyConfig.extraStatTags }, statsTagFault, inputs),
      ...sound({ name: `annotation ${ANNOTATIONS.tags}`, values: annotated }, statsTagFault, inputs),
    ]),
  ];
}

function histogramBuckets({ node, warn }: BootstrapInputs): JsonValue | undefined {
  const text = node.annotations[ANNOTATIONS.buckets];
  if (text === undefined) return undefined;
  const buckets = readHistogramBuckets(text);
  if (typeof buckets === "string") {
    warn?.(`annotation ${ANNOTATIONS.buckets}: ${buckets}; leaving it out`);
    return undefined;
  }
  return buckets.size === 0
    ? undefined
    : [...buckets].map(([prefix, bounds]) => ({ match: { prefix }, buckets: [...bounds] }));
}

/** Builds the flush and eviction intervals of the annotations. One with which Envoy would exit is left out. */
export function statsIntervals({ node: { annotations }, warn }: BootstrapInputs): {
  stats_flush_interval?: string;
  stats_eviction_interval?: string;
} {
  const faults = statsAnnotationFaults(annotations);
  const interval = (annotation: string): string | undefined => {
    const text = annotations[annotation];
    const fault = faults[annotation];
    if (fault !== undefined) warn?.(`annotation ${annotation}: ${fault}; leaving it out`);
    const nanoseconds = text === undefined || fault !== undefined ? undefined : parseGoDuration(text);
    return nanoseconds === undefined ? undefined : protobufDuration(nanoseconds);
  };
  const [flush, eviction] = [interval(ANNOTATIONS.flush), interval(ANNOTATIONS.eviction)];
  return {
    ...(flush !== undefined && { stats_flush_interval: flush }),
    ...(eviction !== undefined && { stats_eviction_interval: eviction }),
  };
}

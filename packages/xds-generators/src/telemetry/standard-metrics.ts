/**
 * Istio's standard metrics on Envoys without `istio.stats`: Envoy's access logger for statistics records them, and the
 * agent turns what it records into Istio's labels. See docs/design/036-standard-metrics.md.
 */

import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AccessLog,
  type AccessLogFilter,
  AccessLogSchema,
} from "@istiod/envoy-api/envoy/config/accesslog/v3/accesslog";
import { AccessLogType } from "@istiod/envoy-api/envoy/data/accesslog/v3/accesslog";
import {
  type Config_Stat,
  Config_Histogram_Unit as Unit,
  ConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/access_loggers/stats/v3/stats";
import { query, type QueryContext } from "@istiod/incremental";
import {
  envoyAtLeast,
  hasExtension,
  type ListenerClass,
  type MetricOverride,
  metricsSettings,
} from "@istiod/push-context";
import {
  connectionLabels,
  httpMetrics,
  type PrincipalFormats,
  recorded,
  type RecordedLabel,
  type Reporter,
  requestLabels,
  type StandardMetric,
  statPrefix,
  tcpMetrics,
} from "@istiod/standard-metrics";
import { packAny } from "../envoy/any.js";
import { hasIstioExtension } from "../istio-extensions.js";
import { localPrincipalKey, type PeerIdentitySource, peerPrincipalKey } from "../security/authorization/principal.js";
import { logTypeFilter, orFilter, responseFlagFilter } from "./access-log-filters.js";
import { labelFormat } from "./label-format.js";

type StatsConfig = Exclude<MessageInitShape<typeof ConfigSchema>, Message>;

const loggerName = "envoy.access_loggers.stats";

/** Most counters, and most histograms, of one proxy: some thousand pairs of peers. Envoy drops further ones. */
const maxSeries = 10_000;

/** Flags of connections for which no connection to a server was opened. */
const unconnected = ["UH", "UF", "UO", "NR", "NC", "URX", "UAEX"];

/** Reports whether the client records the metrics of a class of listeners by an access logger. */
export function recordsStandardMetrics(q: QueryContext, listener: ListenerClass): boolean {
  return (
    !hasIstioExtension(q, "stats") && q.ask(hasExtension, loggerName) && q.call(metricsSettings, listener).length > 0
  );
}

/** Traffic of which metrics are recorded. */
interface MeasuredTraffic {
  readonly listener: ListenerClass;
  readonly identity: PeerIdentitySource;
}

/** Returns the access logger for metrics of requests, if the client needs one. */
export const httpMetricsLogs = query(
  "httpMetricsLogs",
  (q, { listener, identity }: MeasuredTraffic): readonly AccessLog[] => {
    if (!recordsStandardMetrics(q, listener)) return [];
    const labels = requestLabels(reporterOf(listener), listener === "sidecar-outbound", principals[identity]);
    return statsLogs(q, recordedMetrics(q, listener, httpMetrics, labels));
  },
);

/** The formats of both sides' SPIFFE IDs; undefined for those of the connection's certificates. */
const principals: Readonly<Record<PeerIdentitySource, PrincipalFormats | undefined>> = {
  certificate: undefined,
  filterState: {
    local: `%FILTER_STATE(${localPrincipalKey}:PLAIN)%`,
    peer: `%FILTER_STATE(${peerPrincipalKey}:PLAIN)%`,
  },
};

/**
 * Returns the access loggers for metrics of TCP connections, if the client needs them. Clients count a connection as
 * opened when it is connected to the server, see {@link countsOpenConnections}. Servers do so when it ends: Envoy
 * connects to the application before it knows the peer.
 */
export const tcpMetricsLogs = query(
  "tcpMetricsLogs",
  (q, { listener, identity }: MeasuredTraffic): readonly AccessLog[] => {
    if (!recordsStandardMetrics(q, listener)) return [];
    const labels = connectionLabels(reporterOf(listener), principals[identity]);
    const log = (metrics: Readonly<Record<string, StandardMetric>>, filter?: AccessLogFilter): readonly AccessLog[] =>
      statsLogs(q, recordedMetrics(q, listener, metrics, labels), filter);
    if (!countsOpenConnections(listener)) return log(tcpMetrics);
    const { TCP_OPENED_CONNECTIONS, ...atEnd } = tcpMetrics;
    const isOpened = orFilter([logTypeFilter(AccessLogType.TcpUpstreamConnected), responseFlagFilter(...unconnected)]);
    return [...log({ TCP_OPENED_CONNECTIONS }, isOpened), ...log(atEnd, logTypeFilter(AccessLogType.TcpConnectionEnd))];
  },
);

/** Reports whether connections of a class of listeners are also to be logged when they are connected to the server. */
export function countsOpenConnections(listener: ListenerClass): boolean {
  return reporterOf(listener) === "source";
}

function reporterOf(listener: ListenerClass): Reporter {
  return listener === "sidecar-inbound" ? "destination" : "source";
}

/** A metric with the labels that Envoy records. */
interface RecordedMetric {
  readonly metric: StandardMetric;
  readonly stat: Pick<Config_Stat, "name"> & { readonly tags: { name: string; valueFormat: string }[] };
}

/** Returns the metrics that are not disabled. Of several Prometheus providers, the first decides. */
function recordedMetrics(
  q: QueryContext,
  listener: ListenerClass,
  metrics: Readonly<Record<string, StandardMetric>>,
  labels: readonly RecordedLabel[],
): readonly RecordedMetric[] {
  const [settings] = q.call(metricsSettings, listener);
  return Object.entries(metrics).flatMap(([key, metric]) => {
    const override = settings?.overrides.find((each) => each.metric === key);
    if (override?.disabled === true) return [];
    const tags = overridden(labels, override).map(({ name, format }) => ({ name, valueFormat: format }));
    return [{ metric, stat: { name: metric.name, tags } }];
  });
}

/** Applies the tag overrides of Telemetry. Removed labels are removed by the agent, which may need them for others. */
function overridden(labels: readonly RecordedLabel[], override: MetricOverride | undefined): readonly RecordedLabel[] {
  const tags = override?.tags.filter(({ name }) => name !== "") ?? [];
  const removed = tags.filter(({ value }) => value === undefined).map(({ name }) => name);
  const set = tags.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, format: labelFormat(value) }]));
  const own = new Set(set.map(({ name }) => name));
  return [
    ...labels.filter(({ name }) => !own.has(name)),
    ...set,
    ...(removed.length === 0 ? [] : [{ name: recorded.removed, format: removed.join(",").replaceAll("%", "%%") }]),
  ];
}

function statsLogs(
  q: QueryContext,
  metrics: readonly RecordedMetric[],
  filter?: AccessLogFilter,
): readonly AccessLog[] {
  if (metrics.length === 0) return [];
  const config: StatsConfig = {
    ...scope(q),
    counters: metrics.flatMap(({ metric: { unit, value }, stat }) => {
      if (unit !== undefined) return [];
      return [value === undefined ? { stat, valueFixed: 1n } : { stat, valueFormat: value }];
    }),
    histograms: metrics.flatMap(({ metric: { unit, value = "" }, stat }) =>
      unit === undefined ? [] : [{ stat, unit: unit === "bytes" ? Unit.Bytes : Unit.Milliseconds, valueFormat: value }],
    ),
  };
  const log = create(AccessLogSchema, {
    name: loggerName,
    configType: { case: "typedConfig", value: packAny(ConfigSchema, config) },
    ...(filter && { filter }),
  });
  return [log];
}

/** Returns where the statistics are: Envoy 1.39 and later bounds their number, and deprecates a prefix alone. */
function scope(q: QueryContext): Pick<StatsConfig, "statPrefix" | "statsScope"> {
  if (!q.ask(envoyAtLeast, [1, 39])) return { statPrefix };
  return {
    statsScope: { prefix: statPrefix, sharingName: statPrefix, maxCounters: maxSeries, maxHistograms: maxSeries },
  };
}

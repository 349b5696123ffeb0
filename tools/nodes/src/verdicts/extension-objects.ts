import { object, type Verdict, type VerdictCase } from "./case.js";

const extension =
  (verdict: Verdict) =>
  (name: string, applied: VerdictCase["object"], words: string): VerdictCase => ({
    name,
    object: applied,
    verdict,
    words,
  });
const live = extension("live");
const ineffective = extension("ineffective");

const details = { selector: { matchLabels: { app: "details" } } };
const patch = (configPatch: object): VerdictCase["object"] =>
  object("networking.istio.io/v1alpha3", "EnvoyFilter", {
    workloadSelector: { labels: { app: "details" } },
    configPatches: [configPatch],
  });
const lua = {
  name: "verdict",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
    default_source_code: { inline_string: "-- nothing" },
  },
};
const before = (name: string): object => ({
  context: "SIDECAR_INBOUND",
  listener: { filterChain: { filter: { name, subFilter: { name: "envoy.filters.http.router" } } } },
});
const telemetry = (spec: object): VerdictCase["object"] => object("telemetry.istio.io/v1", "Telemetry", spec);

/** Good and bad objects that extend proxies. */
export const extensionObjects: readonly VerdictCase[] = [
  live(
    "a filter before the router",
    patch({
      applyTo: "HTTP_FILTER",
      match: before("envoy.filters.network.http_connection_manager"),
      patch: { operation: "INSERT_BEFORE", value: lua },
    }),
    "live on 1 of 1",
  ),
  ineffective(
    "a filter before one of the v2 API",
    patch({
      applyTo: "HTTP_FILTER",
      match: before("envoy.http_connection_manager"),
      patch: { operation: "INSERT_BEFORE", value: lua },
    }),
    "reaches none of",
  ),
  extension("rejected")(
    "a cluster that Envoy rejects",
    patch({
      applyTo: "CLUSTER",
      match: { context: "SIDECAR_OUTBOUND", cluster: { service: "ratings.bookinfo.svc.cluster.local" } },
      patch: { operation: "MERGE", value: { lb_policy: "RING_HASH", ring_hash_lb_config: { minimum_ring_size: 9e6 } } },
    }),
    "rejected",
  ),
  live(
    "a tag of a metric",
    telemetry({
      ...details,
      metrics: [
        {
          providers: [{ name: "prometheus" }],
          overrides: [{ match: { metric: "REQUEST_COUNT" }, tagOverrides: { verdict: { value: "'a'" } } }],
        },
      ],
    }),
    "live on 1 of 1",
  ),
  live(
    "code in Lua",
    object("extensions.istio.io/v1alpha1", "TrafficExtension", { ...details, lua: { inlineCode: "-- nothing" } }),
    "live on 1 of 1",
  ),
  // As in Istio, agents acknowledge such a plugin, with a filter in its place that denies all requests.
  live(
    "a plugin whose module its agent cannot fetch, of which istiod is not told",
    object("extensions.istio.io/v1alpha1", "WasmPlugin", { ...details, url: "http://127.0.0.1:9/filter.wasm" }),
    "live on 1 of 1",
  ),
];

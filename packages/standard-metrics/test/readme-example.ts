import { equal, match } from "node:assert/strict";
import { formatPeer, requestLabels, StandardMetricsText } from "@istiod/standard-metrics";

const web = {
  workload: "web-v1",
  namespace: "shop",
  canonicalService: "web",
  canonicalRevision: "v1",
  cluster: "east",
  app: "web",
  version: "v1",
};
equal(formatPeer(web), "web-v1;shop;web;v1;east;web;v1");

// What Envoy records: labels, each with a format string.
const [first] = requestLabels("source", false);
equal(first?.format, "source");

// Envoy's statistics become Istio's metrics.
const text = new StandardMetricsText(web);
text.push(
  Buffer.from(`# TYPE envoy_istio_requests_total counter
envoy_istio_requests_total{reporter="source",response_code="200",istio_grpc_status="",istio_peer="cart-v2;shop;cart;v2;east;cart;v2"} 3
`),
);
match(
  [...text.end()].join(""),
  /istio_requests_total\{reporter="source",source_workload="web-v1",.*destination_workload="cart-v2".*\} 3/,
);

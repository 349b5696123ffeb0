import { StandardMetricsText } from "@istiod/standard-metrics";
import { expect, it } from "vitest";

const self = {
  workload: "web",
  namespace: "shop",
  canonicalService: "web",
  canonicalRevision: "v1",
  cluster: "east",
  app: "web",
  version: "v1",
};
const raw = (labels: string): string => `reporter="destination",istio_grpc_status="",${labels}`;

function convert(...chunks: readonly string[]): { rest: string; metrics: string[] } {
  const text = new StandardMetricsText(self);
  const rest = chunks.map((chunk) => text.push(Buffer.from(chunk)).toString()).join("");
  return { rest, metrics: [...text.end()].join("").split("\n").slice(0, -1) };
}

it("passes other metrics on as they are", () => {
  const other = '# TYPE envoy_cluster_x counter\nenvoy_cluster_x{a="b\\"c"} 1\n';
  expect(convert(other)).toEqual({ rest: other, metrics: [] });
  const mixed = `${other}# TYPE envoy_istio_requests_total counter\nenvoy_istio_requests_total{${raw('response_code="200"')}} 1\n${other}`;
  expect(convert(mixed).rest).toBe(other + other);
});

it("adds up series that have the same labels in the end", () => {
  const { metrics } = convert(
    "# TYPE envoy_istio_requests_total counter\n" +
      `envoy_istio_requests_total{${raw('response_code="200",istio_services="-"')}} 2\n` +
      `envoy_istio_requests_total{${raw('response_code="200",istio_services=""')}} 3\n`,
    `envoy_istio_requests_total{${raw('response_code="503",istio_services="-"')}} 4\n`,
  );
  expect(metrics).toHaveLength(3);
  expect(metrics[0]).toBe("# TYPE istio_requests_total counter");
  expect(metrics[1]).toMatch(/^istio_requests_total\{reporter="destination",.*response_code="200"\} 5$/);
  expect(metrics[2]).toMatch(/response_code="503"\} 4$/);
});

it("keeps the parts of histograms, with the bound as the last label", () => {
  const name = "envoy_istio_request_bytes";
  const series = raw('response_code="200"');
  const { metrics } = convert(
    `# TYPE ${name} histogram\n${name}_bucket{${series},le="0.5"} 0\n${name}_bucket{${series},le="+Inf"} 7\n` +
      `${name}_sum{${series}} 12.5\n${name}_count{${series}} 7\n`,
  );
  expect(metrics).toEqual([
    "# TYPE istio_request_bytes histogram",
    expect.stringMatching(/^istio_request_bytes_bucket\{.*,le="0\.5"\} 0$/),
    expect.stringMatching(/^istio_request_bytes_bucket\{.*,le="\+Inf"\} 7$/),
    expect.stringMatching(/^istio_request_bytes_sum\{.*"\} 12\.5$/),
    expect.stringMatching(/^istio_request_bytes_count\{.*"\} 7$/),
  ]);
});

it("reads and writes escapes of label values", () => {
  const { metrics } = convert(
    "# TYPE envoy_istio_requests_total counter\n" +
      `envoy_istio_requests_total{${raw(String.raw`istio_services="[{\"host\":\"a.b\",\"name\":\"a\"}]",x="q\"\\\n"`)}} 1\n`,
  );
  expect(metrics[1]).toContain('destination_service="a.b",destination_service_name="a"');
  expect(metrics[1]).toContain(String.raw`x="q\"\\\n"`);
});

it("writes no metric without a series", () => {
  expect(convert("# TYPE envoy_istio_request_bytes histogram\n").metrics).toEqual([]);
});

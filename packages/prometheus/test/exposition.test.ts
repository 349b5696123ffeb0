import { expect, it } from "vitest";
import { parseExposition } from "@istiod/prometheus/testing";

it("parses types, labels and values of metrics", () => {
  const { types, samples, value } = parseExposition(
    [
      "# HELP pilot_xds Proxies, with {braces}.",
      "# TYPE pilot_xds gauge",
      'pilot_xds{version="1.27.0",other="a \\"quoted\\" }, \\\\ and\\n"} 3',
      "# TYPE pilot_proxy_queue_time histogram",
      'pilot_proxy_queue_time_bucket{le="+Inf"} 7',
      "pilot_proxy_queue_time_sum 1.5e-3",
      "pilot_no_ip 0",
      "",
    ].join("\n"),
  );
  expect([...types]).toEqual([
    ["pilot_xds", "gauge"],
    ["pilot_proxy_queue_time", "histogram"],
  ]);
  expect(samples.get("pilot_xds")).toEqual([
    { labels: { version: "1.27.0", other: 'a "quoted" }, \\ and\n' }, value: 3 },
  ]);
  expect(value("pilot_proxy_queue_time_bucket", { le: "+Inf" })).toBe(7);
  expect(value("pilot_proxy_queue_time_sum")).toBe(0.0015);
  expect(value("pilot_no_ip")).toBe(0);
  expect(value("pilot_no_ip", { version: "1.27.0" })).toBeUndefined();
});

it("throws for a line that is not a sample", () => {
  expect(() => parseExposition("pilot_no_ip zero zero\n")).toThrow("not a sample: pilot_no_ip zero zero");
});

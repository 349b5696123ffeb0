import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { MetricLines } from "../src/status/metric-lines.js";
import { acceptedOpenMetrics, type MetricsFormat } from "../src/status/metrics-format.js";
import type { StatusServerOptions } from "../src/status/status-server.js";
import { startStatusServer } from "./status-server.js";

/** The header that Prometheus 3 sends by default. */
const prometheus =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

describe("the format of metrics", () => {
  it.each([
    [prometheus, "1.0.0"],
    ["application/openmetrics-text", "1.0.0"],
    ["application/openmetrics-text;version=0.0.1", "0.0.1"],
    ["application/openmetrics-text; version=1.0.0; q=0.5, text/plain; q=0.5", "1.0.0"],
    ["text/plain, application/openmetrics-text;q=0.5", undefined],
    ["application/openmetrics-text;q=0.1,*/*", undefined],
    ["application/openmetrics-text;version=2.0.0", undefined],
    ["application/openmetrics-text;q=0", undefined],
    ["application/openmetrics-text;q=x", undefined],
    ["*/*", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("is OpenMetrics if the scraper prefers it: %s", (accept, version) =>
    expect(acceptedOpenMetrics(accept)).toBe(version),
  );

  const converted = (text: string, from: MetricsFormat, to: MetricsFormat = "openmetrics"): string => {
    const lines = new MetricLines({ from, to });
    return lines.push(Buffer.from(text)) + lines.end();
  };

  it.each([
    [
      "a counter",
      '# HELP a_total The "a".\n# TYPE a_total counter\na_total 1\n',
      '# TYPE a counter\n# HELP a The \\"a\\".\na_total 1\n',
    ],
    ["a counter of another name", "# TYPE a counter\na 1\n", "# TYPE a unknown\na 1\n"],
    ["an untyped metric", "# TYPE a untyped\na 1\n", "# TYPE a unknown\na 1\n"],
    ["timestamps", "a 1 1700000000123\na 1 5000\na 1 -1\n", "a 1 1700000000.123\na 1 5\na 1 -0.001\n"],
    ["white space", '#\tTYPE  a gauge\na { b = "c" , d="e}", }\t1\n', '# TYPE a gauge\na{b="c",d="e}"} 1\n'],
    ["empty labels and lines", "\na{} 1\n\n", "a{} 1\n"],
    ["other comments", "# a note\n# EOF\n#\na 1", "a 1\n"],
    ["the help of another metric", "# HELP b B\n# TYPE a gauge\na 1\n", "# TYPE a gauge\na 1\n"],
  ])("converts the text format: %s", (_, text, expected) => expect(converted(text, "text")).toBe(expected));

  it.each([
    [
      "exemplars",
      'a_total{b="c"} 1 # {trace_id="x"} 0.5 1700000000.123\n',
      'a_total{b="c"} 1 # {trace_id="x"} 0.5 1700000000.123\n',
    ],
    ["timestamps", "a 1 1.5\n", "a 1 1.5\n"],
    ["comments", "# TYPE a info\n# UNIT a_s s\n# HELP a A\n# EOF\n", "# TYPE a info\n# UNIT a_s s\n# HELP a A\n"],
    ["nothing malformed of an exemplar", 'a_total 1 # {trace_id="x" 0.5\n', "a_total 1\n"],
    ["nothing of a malformed line", "a_total one\n# TYPE a nonsense\nb 1\n", "b 1\n"],
  ])("passes OpenMetrics on: %s", (_, text, expected) => expect(converted(text, "openmetrics")).toBe(expected));

  it("leaves exemplars out of the text format", () =>
    expect(converted('a_total 1 # {trace_id="x"} 0.5\n', "openmetrics", "text")).toBe("a_total 1\n"));
});

describe("merged metrics", () => {
  const web = async (answer: http.RequestListener): Promise<number> => {
    const server = http.createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    return (server.address() as AddressInfo).port;
  };
  const serving = async (more: Partial<StatusServerOptions>) => {
    const server = await startStatusServer(more);
    return (accept: string) => fetch(`http://127.0.0.1:${server.port}/stats/prometheus`, { headers: { accept } });
  };
  const withExemplar =
    (accept: string): http.RequestListener =>
    (request, response) => {
      const isOpen = request.headers.accept?.includes(accept) === true;
      if (isOpen) response.setHeader("content-type", openMetrics);
      response.end(
        isOpen ? '# TYPE a counter\na_total 1 # {trace_id="x"} 1\n# EOF\n' : "# TYPE a_total counter\na_total 1\n",
      );
    };

  it("are in OpenMetrics with exemplars if the scraper prefers it, and else in the text format", async () => {
    const envoy = await web((_, response) =>
      response.end("# TYPE envoy_x counter\nenvoy_x{} 1\n\n# TYPE envoy_y gauge\nenvoy_y 2\n"),
    );
    const plain = await web((_, response) => response.end("# TYPE b_total counter\nb_total 3\n"));
    const application = await web(withExemplar("application/openmetrics-text"));
    const ask = await serving({
      envoyMetrics: `http://127.0.0.1:${envoy}/stats/prometheus`,
      applications: [
        { port: application, path: "/metrics" },
        { port: plain, path: "/metrics" },
      ],
    });
    const open = await ask(prometheus);
    expect(open.headers.get("content-type")).toBe(openMetrics);
    const text = await open.text();
    expect(text).toContain("# TYPE istio_agent_scrapes counter\n");
    expect(text).toMatch(
      /# TYPE envoy_x unknown\nenvoy_x\{\} 1\n# TYPE envoy_y gauge\nenvoy_y 2\n# TYPE a counter\na_total 1 # \{trace_id="x"\} 1\n# TYPE b counter\nb_total 3\n# EOF\n$/,
    );
    const classic = await ask("text/plain;version=0.0.4");
    expect(classic.headers.get("content-type")).toContain("text/plain");
    expect(await classic.text()).toContain("# TYPE envoy_x counter\nenvoy_x{} 1\n");
  });

  it("are in the text format without applications, whose exemplars are the reason for another", async () => {
    const response = await (await serving({}))(prometheus);
    expect(response.headers.get("content-type")).toContain("text/plain");
    expect(await response.text()).not.toContain("# EOF");
  });

  it("pass an application's metrics on as they arrive", async () => {
    let finish: () => void = () => undefined;
    const application = await web((_, response) => {
      response.write("a 1\n");
      finish = () => response.end("b 2\n");
    });
    const ask = await serving({ applications: [{ port: application, path: "/metrics" }] });
    const reader = (await ask("text/plain")).body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while (!seen.includes("a 1\n")) seen += (await reader.read()).value ?? "";
    expect(seen).not.toContain("b 2");
    finish();
    for (let part = await reader.read(); !part.done; part = await reader.read()) seen += part.value;
    expect(seen.endsWith("a 1\nb 2\n")).toBe(true);
  });
});

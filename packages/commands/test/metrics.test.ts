import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { metricsCommand } from "@istiod/commands";
import { expect, onTestFinished, test } from "vitest";
import { run } from "./cluster-run.js";
import { folder } from "./folder.js";

/** Prometheus, and an API server that has a Pod of it. */
async function startPrometheus(pods: readonly object[]): Promise<{ readonly url: string; readonly queries: string[] }> {
  const queries: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const query = searchParams.get("query") ?? "";
    const isProxy = pathname === "/api/v1/namespaces/istio-system/pods/prometheus-0:9090/proxy/api/v1/query";
    if (pathname === "/api/v1/namespaces/istio-system/pods") return response.end(JSON.stringify({ items: pods }));
    if (pathname !== "/api/v1/query" && !isProxy) return response.writeHead(404).end("{}");
    queries.push(query);
    const value = query.includes("response_code") ? "0.5" : query.startsWith("histogram") ? "12.7" : "20";
    const result = query.includes("idle") ? [] : [{ value: [0, value] }];
    return response.end(JSON.stringify({ status: "success", data: { result } }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries };
}

const table = `                                WORKLOAD    TOTAL RPS    ERROR RPS  P50 LATENCY  P90 LATENCY  P99 LATENCY
                                web.shop       20.000        0.500         12ms         12ms         12ms
`;

test("istiod metrics prints rates and latencies of workloads", async () => {
  const { url, queries } = await startPrometheus([]);
  const { out } = await run(metricsCommand, {}, ["web.shop", "idle", "-d", "5m", "--prometheus", url]);
  expect(out).toBe(
    `${table}                                    idle        0.000        0.000          0ms          0ms          0ms\n`,
  );
  expect(queries).toContain(
    'sum(rate(istio_requests_total{destination_workload=~"web.*", destination_workload_namespace=~"shop.*",reporter="destination"}[5m]))',
  );
});

test("istiod metrics asks the Pod of Prometheus through the API server", async () => {
  const kubeconfig = async (server: string) =>
    join(
      await folder({
        config: JSON.stringify({
          clusters: [{ name: "c", cluster: { server } }],
          contexts: [{ name: "c", context: { cluster: "c" } }],
          "current-context": "c",
        }),
      }),
      "config",
    );
  const { url } = await startPrometheus([{ metadata: { name: "prometheus-0", namespace: "istio-system" } }]);
  expect((await run(metricsCommand, { KUBECONFIG: await kubeconfig(url) }, ["web.shop"])).out).toBe(table);
  const empty = await startPrometheus([]);
  await expect(run(metricsCommand, { KUBECONFIG: await kubeconfig(empty.url) }, ["web.shop"])).rejects.toThrow(
    "no Pod has the label app.kubernetes.io/name=prometheus; name Prometheus by --prometheus",
  );
});

test.each([
  [['web"} or vector(1)'], "expected name or name.namespace"],
  [["web.shop.svc"], "expected name or name.namespace"],
  [["web", "-d", "soon"], "expected a duration such as 90s or 5m"],
  [[], "missing required argument 'workloads'"],
])("istiod metrics %j is rejected", async (args, message) => {
  await expect(run(metricsCommand, {}, [...args, "--prometheus", "http://127.0.0.1:1"])).rejects.toThrow(message);
});

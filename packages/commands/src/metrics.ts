import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "./cluster/cluster.js";
import { listObjects, resources } from "./cluster/objects.js";
import type { Pod } from "./cluster/pod-of.js";
import { askJson } from "./ask-json.js";

interface MetricsFlags extends ClusterFlags {
  readonly prometheus?: string;
  readonly duration: string;
}

/** Runs a query, and returns its first value; 0 if it has none. */
type Query = (query: string) => Promise<number>;

/** `istiod metrics`: requests and latencies of workloads, from Prometheus. */
export function metricsCommand({ env, print }: Pick<ClusterCommandOptions, "env" | "print">): Command {
  const command = new SettingsCommand("metrics")
    .alias("m")
    .description("Print the rates of requests and errors and the latencies of workloads, as their servers report them.")
    .argument("<workloads...>", "workloads, as name or name.namespace")
    .addOption(
      new Option("-d, --duration <duration>", "time that rates are computed over, such as 90s or 5m")
        .default("1m")
        .argParser(duration),
    )
    .option("--prometheus <url>", "URL of Prometheus (default: its Pod in the namespace of the control plane)");
  for (const option of clusterOptions("ignored, as workloads name theirs")) command.addOption(option);
  return command.action(async (workloads: readonly string[], flags: MetricsFlags) => {
    const table = (query: Query): Promise<string> => metricsTable(workloads, flags.duration, query);
    const { prometheus } = flags;
    if (prometheus !== undefined)
      return print(await table(async (query) => valueOf(await askJson("--prometheus", prometheus, queryPath(query)))));
    print(await withCluster(flags, env, async (cluster) => table(await clusterQuery(cluster))));
  });
}

const queryPath = (query: string): string => `/api/v1/query?query=${encodeURIComponent(query)}`;

/** Asks Prometheus through the API server. */
async function clusterQuery({ client, istioNamespace }: Cluster): Promise<Query> {
  const pods = await listObjects<Pod>(client, resources.pods, {
    namespace: istioNamespace,
    labelSelector: "app.kubernetes.io/name=prometheus",
  });
  const [pod] = pods;
  if (pod === undefined)
    throw new Error(
      `namespace ${istioNamespace}: no Pod has the label app.kubernetes.io/name=prometheus; name Prometheus by --prometheus`,
    );
  const path = `/api/v1/namespaces/${istioNamespace}/pods/${pod.metadata.name}:9090/proxy/api/v1/query`;
  return async (query) => valueOf(await client.json<unknown>({ path, query: { query } }));
}

interface QueryAnswer {
  readonly data?: { readonly result?: readonly { readonly value?: readonly [number, string] }[] };
}

function valueOf(answer: unknown): number {
  return Number((answer as QueryAnswer).data?.result?.[0]?.value?.[1] ?? 0);
}

const header = ["WORKLOAD", "TOTAL RPS", "ERROR RPS", "P50 LATENCY", "P90 LATENCY", "P99 LATENCY"];

async function metricsTable(workloads: readonly string[], over: string, query: Query): Promise<string> {
  const rows = await Promise.all(
    workloads.map(async (workload) => {
      const [name = "", namespace = "", ...more] = workload.split(".");
      if (more.length > 0 || !/^[-a-z0-9]+$/.test(name) || !/^[-a-z0-9]*$/.test(namespace))
        throw new Error(`workload ${JSON.stringify(workload)}: expected name or name.namespace`);
      const labels = `destination_workload=~"${name}.*", destination_workload_namespace=~"${namespace}.*",reporter="destination"`;
      const rate = (more = ""): Promise<number> => query(`sum(rate(istio_requests_total{${labels}${more}}[${over}]))`);
      const latency = async (quantile: number): Promise<string> => {
        const buckets = `istio_request_duration_milliseconds_bucket{${labels}}[${over}]`;
        const found = await query(`histogram_quantile(${quantile}, sum(rate(${buckets})) by (le))`);
        return `${Number.isFinite(found) ? Math.trunc(found) : 0}ms`;
      };
      const rates = [await rate(), await rate(',response_code=~"[45][0-9]{2}"')].map((found) => found.toFixed(3));
      return [workload, ...rates, await latency(0.5), await latency(0.9), await latency(0.99)];
    }),
  );
  const widths = [40, 13, 13, 13, 13, 13];
  return [header, ...rows]
    .map((row) => `${row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("")}\n`)
    .join("");
}

function duration(value: string): string {
  if (!/^([1-9]\d*(ms|s|m|h|d))+$/.test(value)) throw new InvalidArgumentError("expected a duration such as 90s or 5m");
  return value;
}

import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { lines } from "./fleet/table.js";
import { positive, runCommand } from "./options.js";
import { type AgentCost, measureAgent, whyNoAgent } from "./sizing/agents.js";
import { predict, resourcesOf } from "./sizing/formula.js";
import { measurePoint, points, type SizedPoint } from "./sizing/points.js";
import { agentColumns, pointColumns } from "./sizing/tables.js";

const usage = `Usage: sizing [flags]

Prints the table of docs/sizing.md: what the formula predicts, and what is measured, for istiod over TLS with meshes of several sizes.

  --only 1,4         rows to measure (default: all ${points.length})
  --agents           measure an agent with its Envoy instead, for meshes of --services 10,100,300,1000; needs a network of its own:
                     unshare -rn sh -c 'ip link set lo up && npm run sizing -w tools/bench -- --agents'
  --predict          measure nothing, and print the prediction for one mesh:
    --services 1000 --pods 3 --namespaces 20 --proxies 500 [--scoped]
    --changes 5      changes of endpoints a second
  --json FILE        write the figures as JSON

Exits with status 1 if a proxy did not receive the resources that it needs.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    only: { type: "string" },
    agents: { type: "boolean", default: false },
    predict: { type: "boolean", default: false },
    services: { type: "string" },
    pods: { type: "string", default: "3" },
    namespaces: { type: "string", default: "20" },
    proxies: { type: "string", default: "500" },
    scoped: { type: "boolean", default: false },
    changes: { type: "string", default: "5" },
    json: { type: "string" },
  },
});

const numbers = (flag: string, text: string): number[] => text.split(",").map((each) => positive(flag, each));

async function write(content: object): Promise<void> {
  if (values.json !== undefined) await writeFile(values.json, JSON.stringify(content, undefined, 1));
}

async function measurePoints(): Promise<boolean> {
  const wanted = values.only === undefined ? points : numbers("only", values.only).map(pointOf);
  const measured: SizedPoint[] = [];
  for (const size of wanted) {
    console.error(JSON.stringify(size));
    measured.push(await measurePoint(size));
  }
  console.log(lines(pointColumns, measured).join("\n"));
  const failures = measured.flatMap((point) => point.failures);
  for (const text of failures) console.log(`! ${text}`);
  await write(measured);
  return failures.length === 0;
}

/** @throws Error if there is no such row */
function pointOf(row: number): (typeof points)[number] {
  const point = points[row - 1];
  if (point === undefined) throw new Error(`--only ${row}: there are ${points.length} rows`);
  return point;
}

async function measureAgents(): Promise<boolean> {
  const reason = await whyNoAgent();
  if (reason !== undefined) throw new Error(reason);
  const measured: AgentCost[] = [];
  for (const services of numbers("services", values.services ?? "10,100,300,1000")) {
    console.error(`${services} services`);
    measured.push(await measureAgent(services));
  }
  console.log(lines(agentColumns, measured).join("\n"));
  await write(measured);
  return true;
}

function printPrediction(): boolean {
  const size = {
    services: positive("services", values.services ?? "1000"),
    pods: positive("pods", values.pods),
    namespaces: positive("namespaces", values.namespaces),
    proxies: positive("proxies", values.proxies),
    isScoped: values.scoped,
  };
  const { connectBytes, readyCpuSeconds, connectCpuSeconds, peakBytes, endpoint, weight } = predict(size);
  const { cpuRequest, memoryRequest, memoryLimit } = resourcesOf(size, positive("changes", values.changes));
  const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const change = ({ cpuSeconds, bytes }: typeof endpoint): string =>
    `${(cpuSeconds * 1000).toFixed(0)} ms of CPU, ${(bytes / 1e6).toFixed(1)} MB`;
  for (const [name, value] of [
    ["memory at its peak", mebibytes(peakBytes)],
    ["CPU until ready", `${readyCpuSeconds.toFixed(1)} s`],
    [
      "first connection of all proxies",
      `${connectCpuSeconds.toFixed(1)} s of CPU, ${(connectBytes / 1e6).toFixed(0)} MB`,
    ],
    ["change of an endpoint", change(endpoint)],
    ["change of a route", change(weight)],
    ["requests", `cpu ${Math.ceil(cpuRequest * 1000)}m, memory ${mebibytes(memoryRequest)}`],
    ["limit, if there is one", `memory ${mebibytes(memoryLimit)}`],
  ] as const)
    console.log(`${name}: ${value}`);
  return true;
}

async function main(): Promise<boolean> {
  if (values.predict) return printPrediction();
  return values.agents ? await measureAgents() : await measurePoints();
}

if (values.help) console.log(usage);
else await runCommand("sizing", main);

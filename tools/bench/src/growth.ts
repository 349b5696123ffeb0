import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type GrowthPoint, measure, growthColumns, pointsOf } from "./growth/points.js";
import { lines } from "./fleet/table.js";
import { positive, runCommand } from "./options.js";

const usage = `Usage: growth [flags]

Measures how the cost of a change grows with the mesh: runs the fleet with increasing numbers of proxies, and of services and namespaces. Runs
with one Sidecar per namespace, where a change in the first namespace touches the same number of proxies at each size, and without Sidecars, where
it touches all proxies. Each change is repeated. Reports the first repetition, and the median of the others.

  --proxies 250,500,1000,2000           at --fixed-services
  --services 250,500,1000,2000,4000     at --fixed-proxies
  --fixed-services 1000
  --fixed-proxies 500
  --per-namespace 50                    services per namespace
  --in-first 20                         proxies in the first namespace
  --changes weight,endpoint,policy      kinds of changes there
  --repeat 5                            repetitions after the first one
  --only scoped|unscoped                default: both
  --mode delta                          or sotw
  --threads 1                           threads that simulate the proxies
  --seed 1
  --json FILE

Exits with status 1 if a run failed; see fleet.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    proxies: { type: "string", default: "250,500,1000,2000" },
    services: { type: "string", default: "250,500,1000,2000,4000" },
    "fixed-services": { type: "string", default: "1000" },
    "fixed-proxies": { type: "string", default: "500" },
    "per-namespace": { type: "string", default: "50" },
    "in-first": { type: "string", default: "20" },
    changes: { type: "string", default: "weight,endpoint,policy" },
    repeat: { type: "string", default: "5" },
    only: { type: "string" },
    mode: { type: "string", default: "delta" },
    threads: { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    json: { type: "string" },
  },
});

const list = (flag: "proxies" | "services"): number[] =>
  values[flag]
    .split(",")
    .filter((text) => text !== "")
    .map((text) => positive(flag, text));

async function main(): Promise<boolean> {
  if (values.mode !== "delta" && values.mode !== "sotw")
    throw new Error(`--mode ${values.mode}: expected delta or sotw`);
  if (values.only !== undefined && values.only !== "scoped" && values.only !== "unscoped")
    throw new Error(`--only ${values.only}: expected scoped or unscoped`);
  const options = {
    proxies: list("proxies"),
    services: list("services"),
    fixedServices: positive("fixed-services", values["fixed-services"]),
    fixedProxies: positive("fixed-proxies", values["fixed-proxies"]),
    perNamespace: positive("per-namespace", values["per-namespace"]),
    inFirst: positive("in-first", values["in-first"]),
    changes: values.changes.split(","),
    repeat: positive("repeat", values.repeat),
    variant: values.mode,
    threads: positive("threads", values.threads),
    seed: positive("seed", values.seed),
  } as const;
  const results: GrowthPoint[] = [];
  const failed: string[] = [];
  for (const scoped of [true, false]) {
    if (values.only === (scoped ? "unscoped" : "scoped")) continue;
    for (const axis of ["proxies", "services"] as const) {
      const points: GrowthPoint[] = [];
      for (const point of pointsOf(options, axis, scoped)) {
        console.error(`${scoped ? "scoped" : "unscoped"}: ${point.services} services, ${point.proxies} proxies`);
        const { rows, failures } = await measure(options, point);
        points.push(...rows);
        failed.push(...failures);
      }
      results.push(...points);
      if (points.length > 0)
        console.log(
          [
            `\nmore ${axis}, ${scoped ? "one Sidecar a namespace" : "nothing scoped"}\n`,
            ...lines(growthColumns, points),
          ].join("\n"),
        );
      if (values.json !== undefined)
        await writeFile(values.json, JSON.stringify({ options, points: results, failures: failed }, undefined, 1));
    }
  }
  for (const text of failed) console.log(`! ${text}`);
  return failed.length === 0;
}

if (values.help) console.log(usage);
else await runCommand("growth", main);

import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { clusterUnavailable } from "@istiod/cluster";
import { lines } from "./fleet/table.js";
import { positive, runCommand } from "./options.js";
import type { Dimension } from "./scale/dimension.js";
import { dimensions } from "./scale/dimensions/index.js";
import { judgeByEnvoy } from "./scale/envoy-judge.js";
import { measureStep, type Step } from "./scale/measure-step.js";
import { failures, markdown, steepest, stepColumns } from "./scale/report.js";
import type { SourceKind } from "./scale/source.js";

const usage = `Usage: scale [flags]

Serves meshes of which one number grows alone, such as the endpoints of a service, to a proxy of each variant of the protocol: an istiod of its own for each size. A client
decodes all that it receives and compares it with what is expected, before and after a change of one object, and a real Envoy is offered it. Prints CPU, memory, bytes and
responses for each size, and how they grow with it.

  --only NAME,...          dimensions (default: all)
  --sources files,cluster  where istiod reads the mesh: a directory, the API server of tools/cluster, or both
  --min-size N             no smaller sizes
  --max-size N             no larger sizes
  --timeout 120            seconds until everything must have arrived
  --json FILE
  --markdown FILE

Exits with status 1 if a proxy does not have what is expected and istiod does not give a reason, if Envoy rejects it, or if CPU, memory or bytes grow faster than
the size to the power 1.3.

Dimensions:
${dimensions.map(({ name, counts, sizes }) => `  ${name.padEnd(24)} ${counts}: ${sizes.join(", ")}`).join("\n")}`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    only: { type: "string" },
    sources: { type: "string", default: "files,cluster" },
    "min-size": { type: "string" },
    "max-size": { type: "string" },
    timeout: { type: "string", default: "120" },
    json: { type: "string" },
    markdown: { type: "string" },
  },
});

function selected(): readonly Dimension[] {
  const names = values.only?.split(",");
  const unknown = names?.find((name) => !dimensions.some((dimension) => dimension.name === name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: no such dimension`);
  return names === undefined ? dimensions : dimensions.filter(({ name }) => names.includes(name));
}

async function sources(): Promise<readonly SourceKind[]> {
  const kinds = values.sources.split(",");
  const unknown = kinds.find((kind) => kind !== "files" && kind !== "cluster");
  if (unknown !== undefined) throw new Error(`--sources ${unknown}: expected files or cluster`);
  const reason = kinds.includes("cluster") ? await clusterUnavailable() : undefined;
  if (reason !== undefined) console.error(`nothing is read from an API server: ${reason}`);
  return (["files", "cluster"] as const).filter(
    (kind) => kinds.includes(kind) && (kind === "files" || reason === undefined),
  );
}

async function main(): Promise<boolean> {
  const kinds = await sources();
  const envoy = await judgeByEnvoy();
  if (envoy === undefined) console.error("nothing is offered to an Envoy: there is none");
  const minSize = values["min-size"] === undefined ? 0 : positive("min-size", values["min-size"]);
  const maxSize = values["max-size"] === undefined ? Infinity : positive("max-size", values["max-size"]);
  const timeoutMs = positive("timeout", values.timeout) * 1000;
  const all: Step[] = [];
  const wrong: string[] = [];
  console.log(lines(stepColumns, [])[0]);
  for (const dimension of selected())
    for (const source of kinds) {
      const limit = Math.min(maxSize, source === "files" ? Infinity : (dimension.fromCluster ?? 0));
      const steps: Step[] = [];
      for (const size of dimension.sizes.filter((each) => each >= minSize && each <= limit)) {
        const step = await measureStep(dimension, { source, size, timeoutMs, ...(envoy && { envoy }) });
        console.log(lines(stepColumns, [step])[1]);
        steps.push(step);
      }
      if (steps.length === 0) continue;
      all.push(...steps);
      wrong.push(...failures(steps));
      console.log(`  steepest growth: ${steepest(steps)}; load ${loadavg()[0]?.toFixed(1)}`);
      if (values.json !== undefined)
        await writeFile(values.json, JSON.stringify({ steps: all, failures: wrong }, undefined, 1));
    }
  if (values.markdown !== undefined) await writeFile(values.markdown, `${markdown(stepColumns, all)}\n`);
  for (const text of wrong) console.log(`! ${text}`);
  return wrong.length === 0;
}

if (values.help === true) console.log(usage);
else await runCommand("scale", main);

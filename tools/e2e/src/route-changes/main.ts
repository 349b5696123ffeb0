import { parseArgs } from "node:util";
import { whyNoEnvoy } from "../envoy/require-envoy.js";
import { whyNoProcess } from "../istiod/istiod.js";
import { RouteChangesRig } from "./route-changes-rig.js";
import { type RouteStage, routeStages, runStage, type StageResult } from "./run-stage.js";

const usage = `Usage: route-changes [--routes 200] [--rate 500] [--changes-per-second 20]

Creates, edits and deletes HTTPRoutes of one Gateway with a real Envoy, while requests are sent to two routes of it that
stay. Exits with status 1 if one of these requests fails, or a change has no effect.

Stages: ${Object.entries(routeStages)
  .map(([name, what]) => `\n  ${name}: ${what}`)
  .join("")}`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    routes: { type: "string", default: "200" },
    rate: { type: "string", default: "500" },
    "changes-per-second": { type: "string", default: "20" },
  },
});
if (values.help) console.log(usage);
else process.exitCode = (await run()) ? 0 : 1;

async function run(): Promise<boolean> {
  const reason = (await whyNoEnvoy()) ?? whyNoProcess();
  if (reason !== undefined) throw new Error(reason);
  const changesPerSecond = positive("changes-per-second", values["changes-per-second"]);
  const rig = await RouteChangesRig.start({
    routes: positive("routes", values.routes),
    requestsPerSecond: positive("rate", values.rate),
  });
  try {
    console.log("| stage | s | changes | requests, skipped, failed | a second | p99, longest ms | all live after ms |");
    console.log("|---|--:|--:|--:|--:|--:|--:|");
    let isMet = true;
    for (const stage of Object.keys(routeStages) as RouteStage[]) {
      const result = await runStage(rig, stage, changesPerSecond);
      console.log(row(result));
      isMet &&= result.failed === 0;
      for (const failure of result.failures) console.error(`! ${failure}`);
    }
    for (const refusal of rig.refusals()) console.error(`refused by the Envoy: ${refusal}`);
    if (rig.stolen() > 0) console.error(`! ${rig.stolen()} requests reached the hostile namespace`);
    return isMet && rig.stolen() === 0;
  } finally {
    await rig.close();
  }
}

function row({ stage, seconds, changes, requests, skipped, failed, p99, longest, liveMs }: StageResult): string {
  const cells = [
    stage,
    seconds.toFixed(0),
    changes,
    `${requests}, ${skipped}, **${failed}**`,
    (requests / seconds).toFixed(0),
    `${p99.toFixed(0)}, ${longest.toFixed(0)}`,
    liveMs.toFixed(0),
  ];
  return `| ${cells.join(" | ")} |`;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} ${text}: expected a number above 0`);
  return value;
}

import { parseArgs } from "node:util";
import { isChangeKind } from "./mesh/changes.js";
import { meshFlags, meshOptions, meshUsage, positive, runCommand } from "./options.js";
import { type Rejecting, type RejectingStep, runRejectingFleet } from "./rejections/rejecting-fleet.js";

const usage = `Usage: rejections [flags]

Serves a mesh to fleets in which no proxy, one, or all reject every response, and changes it. Prints istiod's CPU seconds, responses and bytes for each step: the
median of some rounds. With --before, another build is measured in turns with this one, and the ratios are printed.

${meshUsage}
  --rejecting none,one,all
  --from connect     step from which they reject: connect, or change
  --changes rule,endpoint
  --rounds 3
  --quiet 4000       milliseconds without a response after which a step ends
  --before FILE      apps/istiod/bin/istiod.js of the other build
  --at-most N        exits with status 1 if a ratio of CPU is larger (default: none)`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    ...meshFlags,
    rejecting: { type: "string", default: "none,one,all" },
    from: { type: "string", default: "connect" },
    changes: { type: "string", default: "rule,endpoint" },
    rounds: { type: "string", default: "3" },
    quiet: { type: "string", default: "4000" },
    before: { type: "string" },
    "at-most": { type: "string" },
  },
});

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? NaN) + (sorted[sorted.length >> 1] ?? NaN)) / 2;
}

const isRejecting = (text: string): text is Rejecting => ["none", "one", "all"].includes(text);

async function measure(rejecting: Rejecting): Promise<readonly number[]> {
  const changes = values.changes.split(",").filter(isChangeKind);
  const builds = values.before === undefined ? [undefined] : [values.before, undefined];
  const runs = builds.map((): (readonly RejectingStep[])[] => []);
  for (let round = 0; round < positive("rounds", values.rounds); round++)
    for (const [build, command] of builds.entries())
      runs[build]?.push(
        await runRejectingFleet({
          ...(command !== undefined && { command }),
          mesh: meshOptions(values),
          rejecting,
          fromFirstChange: values.from === "change",
          changes,
          quietMs: positive("quiet", values.quiet),
        }),
      );
  return (runs.at(-1)?.[0] ?? []).map(({ name }, index) => {
    const of = (figure: keyof Omit<RejectingStep, "name">): number[] =>
      runs.map((rounds) => median(rounds.map((steps) => steps[index]?.[figure] ?? NaN)));
    const cpu = of("cpuSeconds");
    const ratio = (cpu.at(-1) ?? NaN) / (cpu[0] ?? NaN);
    const shown = (figures: readonly number[], digits: number): string =>
      figures.map((figure) => figure.toFixed(digits)).join(" → ");
    console.log(
      `${rejecting.padEnd(5)} ${name.padEnd(10)} CPU s ${shown(cpu, 2)}${cpu.length > 1 ? ` (${ratio.toFixed(2)})` : ""}; ` +
        `responses ${shown(of("responses"), 0)}; MB ${shown(
          of("bytes").map((bytes) => bytes / 1e6),
          2,
        )}`,
    );
    return ratio;
  });
}

async function rejections(): Promise<boolean> {
  const kinds = values.rejecting.split(",");
  const unknown = kinds.find((kind) => !isRejecting(kind));
  if (unknown !== undefined) throw new Error(`--rejecting ${unknown}: expected none, one or all`);
  const ratios: number[] = [];
  for (const kind of kinds.filter(isRejecting)) ratios.push(...(await measure(kind)));
  const most = values["at-most"] === undefined ? Infinity : Number(values["at-most"]);
  return ratios.every((ratio) => ratio <= most);
}

if (values.help === true) console.log(usage);
else await runCommand("rejections", rejections);

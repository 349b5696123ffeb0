import { parseArgs } from "node:util";
import { whyNoEnvoy } from "../envoy/require-envoy.js";
import { whyNoProcess } from "../istiod/istiod.js";
import { IsolationRig, type LiveChange } from "./isolation-rig.js";
import { brokenPromises, liveMs, randomOf, runSequence } from "./run-sequence.js";

const usage = `Usage: isolation [--sequences 1000] [--seed 1] [--rate 100] [--variant delta|sotw]

A tenant changes its ports of a shared gateway at random: routes that the gateway's Envoy rejects, ports that are in
use, among accepted ones. Connections end, and istiods are killed. Exits with status 1 unless every Envoy has exactly
the accepted resources after each sequence, no request of another namespace fails, and that namespace's changes are
live within ${liveMs} ms, where the machine has CPU for the experiment.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    sequences: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    rate: { type: "string", default: "100" },
    variant: { type: "string", default: "delta" },
  },
});
if (values.help) console.log(usage);
else process.exitCode = (await run()) ? 0 : 1;

async function run(): Promise<boolean> {
  const reason = (await whyNoEnvoy()) ?? whyNoProcess();
  if (reason !== undefined) throw new Error(reason);
  const sequences = Number(values.sequences);
  const rig = await IsolationRig.start({
    requestsPerSecond: Number(values.rate),
    isDelta: values.variant === "delta",
  });
  const live: LiveChange[] = [];
  const rest: number[] = [];
  const start = performance.now();
  let broken = 0;
  let steps = 0;
  try {
    const random = randomOf(Number(values.seed));
    for (let n = 1; n <= sequences; n++) {
      const result = await runSequence(rig, random);
      live.push(...result.live);
      rest.push(result.restMs);
      steps += result.steps.length;
      const promises = brokenPromises(result);
      if (promises.length > 0) {
        broken++;
        console.error(`! sequence ${n} (${result.steps.join(", ")}):\n  ${promises.join("\n  ")}`);
      }
      if (n % 50 === 0) console.log(`${n} sequences, ${broken} broken, ${seconds(performance.now() - start)} s`);
    }
    const requests = await rig.traffic.count();
    console.log(
      `${sequences} sequences of ${steps} steps in ${seconds(performance.now() - start)} s, ${broken} broken; ` +
        `${requests} requests answered; at rest after ${percentiles(rest)}`,
    );
    for (const isBesideRejected of [false, true]) {
      const times = live.filter((change) => change.isBesideRejected === isBesideRejected).map(({ ms }) => ms);
      const beside = isBesideRejected ? "beside" : "without";
      console.log(
        `${times.length} changes of others ${beside} rejected resources: live after ${percentiles(times)}, ` +
          `${times.filter((ms) => ms > liveMs).length} of them after more than ${liveMs} ms`,
      );
    }
    return broken === 0;
  } finally {
    await rig.close();
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0);
}

function percentiles(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms`;
}

import { parseArgs } from "node:util";
import { positive, runCommand } from "@istiod/bench";
import { clusterUnavailable } from "@istiod/cluster";
import { Closers } from "@istiod/runtime";
import { startInMemoryCluster } from "./cluster/in-memory-cluster.js";
import { startRealCluster } from "./cluster/real-cluster.js";
import { faults } from "./faults/faults.js";
import { OutageRun } from "./outage-run.js";

const usage = `Usage: faults [--cluster real|memory] [--seconds 60] [--recovery 180] [--only NAME,…] [--seed 1]

Connects proxies to an istiod that reads a cluster, and subjects its API server to one fault after the other, for at least --seconds each. Exits with
status 1 if a proxy loses an endpoint, a cluster, a route, a filter or TLS, if the proxies do not have the configuration of a new istiod within
--recovery seconds after a fault, or if an istiod that starts during a fault serves before it has read the cluster.

Without an API server (npm run cluster:install), --cluster is memory by default.

Faults: ${faults.map(({ name }) => name).join(", ")}`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    cluster: { type: "string" },
    seconds: { type: "string", default: "60" },
    recovery: { type: "string", default: "180" },
    only: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
if (values.help) console.log(usage);
else await runCommand("faults", run);

async function run(): Promise<boolean> {
  const selected = selectedFaults(values.only);
  const unavailable = await clusterUnavailable();
  const kind = values.cluster ?? (unavailable === undefined ? "real" : "memory");
  if (kind !== "real" && kind !== "memory") throw new Error(`--cluster ${kind}: expected real or memory`);
  const startCluster = kind === "real" ? startRealCluster : startInMemoryCluster;
  const closers = new Closers();
  try {
    const cluster = await startCluster();
    closers.defer(() => cluster.stop());
    const remote = await startCluster();
    closers.defer(() => remote.stop());
    const outage = await OutageRun.start(cluster, remote, {
      seconds: positive("seconds", values.seconds),
      recoverySeconds: positive("recovery", values.recovery),
      seed: positive("seed", values.seed),
    });
    closers.defer(() => outage.close());
    return await runFaults(outage, selected, kind);
  } finally {
    await closers.close();
  }
}

async function runFaults(outage: OutageRun, selected: typeof faults, kind: string): Promise<boolean> {
  for (const fault of selected) {
    try {
      const { responses, failedStartups, expectedLosses } = await outage.run(fault);
      console.log(
        `${fault.name} (${kind}): nothing lost; ${responses} responses, ${expectedLosses} resources or parts of deleted objects removed, ${failedStartups} startups ended`,
      );
    } catch (error) {
      // The state after a failure is not that in which another fault may be judged.
      console.log(`! ${fault.name} (${kind}): ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }
  return true;
}

function selectedFaults(only: string | undefined): typeof faults {
  if (only === undefined) return faults;
  return only.split(",").map((name) => {
    const found = faults.find((fault) => fault.name === name);
    if (found === undefined)
      throw new Error(`--only ${name}: expected one of ${faults.map((one) => one.name).join(", ")}`);
    return found;
  });
}

import { parseArgs } from "node:util";
import { positive, runCommand } from "@istiod/bench";
import { startInMemoryCluster, startRealCluster } from "@istiod/outage";
import { Closers } from "@istiod/runtime";
import { events } from "./events/index.js";
import { Rig } from "./rig.js";
import { fullSize } from "./rig-options.js";
import { runEvent } from "./run-event.js";
import { failuresOf, header, row } from "./verdict.js";

const usage = `Usage: availability [--server memory|real] [--fault-seconds 60] [--streams 200] [--rate 500] [--only NAME,…]

Runs three istiods, xDS streams, and requests through real Envoys over mutual TLS, and lets one event after the other
happen to the control plane. Exits with status 1 if a request fails, a proxy misses an update or loses configuration, a
webhook does not answer, a reconnection transfers more than 1 % of a first one again, or leadership takes more than
30 seconds to move.

Events: ${events.map(({ name }) => name).join(", ")}`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    server: { type: "string", default: "memory" },
    "fault-seconds": { type: "string", default: "60" },
    streams: { type: "string", default: String(fullSize.streams) },
    rate: { type: "string", default: String(fullSize.requestsPerSecond) },
    only: { type: "string" },
  },
});
if (values.help) console.log(usage);
else await runCommand("availability", run);

async function run(): Promise<boolean> {
  const selected = selectedEvents(values.only);
  const settings = { faultSeconds: positive("fault-seconds", values["fault-seconds"]) };
  const { server } = values;
  if (server !== "memory" && server !== "real") throw new Error(`--server ${server}: expected memory or real`);
  const closers = new Closers();
  try {
    const cluster = await (server === "real" ? startRealCluster() : startInMemoryCluster());
    closers.defer(() => cluster.stop());
    const rig = await Rig.start(cluster, {
      ...fullSize,
      streams: positive("streams", values.streams),
      requestsPerSecond: positive("rate", values.rate),
    });
    closers.defer(() => rig.close());
    console.log(header);
    let isMet = true;
    for (const event of selected) {
      const result = await runEvent(rig, event, settings);
      console.log(row(result));
      for (const failure of failuresOf(result)) {
        isMet = false;
        console.error(`! ${event.name}: ${failure}`);
      }
    }
    return isMet;
  } finally {
    await closers.close();
  }
}

function selectedEvents(only: string | undefined): typeof events {
  if (only === undefined) return events;
  return only.split(",").map((name) => {
    const found = events.find((event) => event.name === name);
    if (found === undefined)
      throw new Error(`--only ${name}: expected one of ${events.map((one) => one.name).join(", ")}`);
    return found;
  });
}

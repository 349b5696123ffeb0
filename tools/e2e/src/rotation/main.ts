import { parseArgs } from "node:util";
import { whyNoEnvoy } from "../envoy/require-envoy.js";
import { whyNoProcess } from "../istiod/istiod.js";
import { rotationEvents } from "./events.js";
import { RotationRig } from "./rotation-rig.js";
import { failuresOf, header, row, runEvent } from "./run-event.js";

const usage = `Usage: rotation [--requests 100000] [--rate 400] [--fresh-every 10] [--renewal-seconds 8] [--certificate-seconds 60] [--only NAME,…]

Sends requests through two real Envoys with agents, over strict mutual TLS, while certificates, intermediates, roots,
revocation lists and the trust domain change, and istiod is killed in each stage of a change. Exits with status 1 if a
request fails.

Events: ${rotationEvents.map(({ name }) => name).join(", ")}`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    requests: { type: "string", default: "100000" },
    rate: { type: "string", default: "400" },
    "fresh-every": { type: "string", default: "10" },
    "renewal-seconds": { type: "string", default: "8" },
    "certificate-seconds": { type: "string", default: "60" },
    only: { type: "string" },
  },
});
if (values.help) console.log(usage);
else process.exitCode = (await run()) ? 0 : 1;

async function run(): Promise<boolean> {
  const reason = (await whyNoEnvoy()) ?? whyNoProcess();
  if (reason !== undefined) throw new Error(reason);
  const events = selectedEvents(values.only);
  const requests = positive("requests", values.requests);
  const rig = await RotationRig.start({
    requestsPerSecond: positive("rate", values.rate),
    freshEvery: positive("fresh-every", values["fresh-every"]),
    renewalSeconds: positive("renewal-seconds", values["renewal-seconds"]),
    certificateSeconds: positive("certificate-seconds", values["certificate-seconds"]),
  });
  try {
    console.log(header);
    let failed = 0;
    let sent = 0;
    let isMet = true;
    for (const event of events) {
      const result = await runEvent(rig, event, {
        requests: Math.ceil(requests / events.length),
        kills: "all",
        requestsBeforeKill: 300,
        requestsWithoutIstiod: 500,
      });
      console.log(row(result));
      sent += result.traffic.succeeded + result.traffic.failed;
      failed += result.traffic.failed;
      for (const failure of failuresOf(result)) {
        isMet = false;
        console.error(`! ${event.name}: ${failure}`);
      }
    }
    console.log(`\n${sent} requests, ${failed} failed`);
    return isMet;
  } finally {
    await rig.close();
  }
}

function selectedEvents(only: string | undefined): typeof rotationEvents {
  if (only === undefined) return rotationEvents;
  return only.split(",").map((name) => {
    const found = rotationEvents.find((event) => event.name === name);
    if (found === undefined)
      throw new Error(`--only ${name}: expected one of ${rotationEvents.map((one) => one.name).join(", ")}`);
    return found;
  });
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} ${text}: expected a number above 0`);
  return value;
}
